#include "headrace/kernels/is_utf8.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "headrace/kernels/targets.h"

namespace headrace::kernels {
namespace {

void expect_as_twin(const std::string& text) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  const auto count = static_cast<int64_t>(text.size());
  const bool twin = is_utf8_scalar(bytes, count);
  on_each_simd_target([&](const std::string& target) {
    ASSERT_EQ(is_utf8(bytes, count), twin) << target << ", bytes " << count << " of " << text;
  });
}

// At any place between others: across two vectors, at both ends.
void expect_as_twin_anywhere(const std::string& some) {
  for (const size_t before : {0, 1, 15, 16, 30, 31, 61, 62, 63, 64, 65, 126, 127, 128, 200})
    for (const size_t behind : {0, 1, 2, 3, 17, 64, 130})
      expect_as_twin(std::string(before, 'x') + some + std::string(behind, 'y'));
}

TEST(IsUtf8, SaysWhatTheTwinSaysOfCharactersAndOfWhatIsNone) {
  for (const char* text : {"",
                           "\xC3\xA4",
                           "\xE2\x82\xAC",
                           "\xF0\x9F\x98\x80",
                           "\xC3",
                           "\xE2\x82",
                           "\xF0\x9F\x98",
                           "\x80",
                           "\xC3\xA4\x80",
                           "\xE2\x82\xAC\x80",
                           "\xF0\x9F\x98\x80\x80",
                           "\xC0\xAF",
                           "\xC1\xBF",
                           "\xE0\x80\xAF",
                           "\xE0\x9F\xBF",
                           "\xE0\xA0\x80",
                           "\xED\x9F\xBF",
                           "\xED\xA0\x80",
                           "\xEE\x80\x80",
                           "\xF0\x80\x80\xAF",
                           "\xF0\x8F\xBF\xBF",
                           "\xF0\x90\x80\x80",
                           "\xF4\x8F\xBF\xBF",
                           "\xF4\x90\x80\x80",
                           "\xF5\x80\x80\x80",
                           "\xFF",
                           "\xE2\x28\xA1",
                           "\xC3\xC3\xA4"})
    expect_as_twin_anywhere(text);
}

TEST(IsUtf8, SaysWhatTheTwinSaysOfAnyBytes) {
  std::mt19937_64 draw(1);
  const std::string pieces[] = {"plain text ", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
                                "\xE4\xB8\xAD\xE6\x96\x87"};
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (size_t n = draw() % 60; n > 0; --n) text += pieces[draw() % 5];
    if (i % 2 == 0 && !text.empty()) text[draw() % text.size()] = static_cast<char>(draw());
    expect_as_twin(text);
  }
}

}  // namespace
}  // namespace headrace::kernels
