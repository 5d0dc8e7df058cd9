#include "headrace/formats/opening/open.h"
#include "tests/sources/conformance.h"

namespace headrace::trial {
namespace {

// 70 rows of (2, 3): more than one block.
std::string digits() {
  std::string out("DIG\x03\0\0\0\x46\0\0\0\x02\0\0\0\x03", 16);
  for (int i = 0; i < 70 * 6; ++i) out += static_cast<char>(i % 251);
  return out;
}

SourceCase digits_case() {
  SourceCase out;
  out.files = {{"mnist/digits", digits()}};
  out.open = by_registered_format("digits");
  for (size_t i = 0; i < 70; ++i)
    out.samples.push_back(field_text(DType::u8, {2, 3}, digits().substr(16 + 6 * i, 6)));
  return out;
}
INSTANTIATE_TEST_SUITE_P(Digits, SourceConformance, ::testing::Values(digits_case));

TEST(Digits, IsRecognisedAndSaysWhatIsWrong) {
  MemoryStore store;
  store.add("digits", digits());
  store.add("cut", digits().substr(0, 100));
  const auto source = open_source(store, "digits");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "value: uint8 (2, 3)");
  EXPECT_EQ((*source)->where(69).text(), "digits at row 69");
  EXPECT_EQ(open_source(store, "cut", "digits").status().text(),
            "digits: 'cut': expected 70 rows of 6 bytes, got 84 bytes");
}

}  // namespace
}  // namespace headrace::trial
