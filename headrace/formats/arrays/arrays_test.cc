#include "headrace/formats/arrays/arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();

int64_t value_at(const Source& source, uint64_t index) {
  MemoryStore store;
  const auto fields = read_sample(source, index, store);
  return fields.ok() ? (*fields)[0].view().as<int64_t>()[0] : kMin;
}

template <class T> Tensor tensor_of(const std::vector<T>& values, DType dtype, Shape shape) {
  return make_tensor({dtype, shape, reinterpret_cast<const std::byte*>(values.data())});
}

TEST(Range, CountsAsPythonDoes) {
  const struct {
    int64_t start, stop, step;
    std::vector<int64_t> values;
  } cases[] = {
      {0, 3, 1, {0, 1, 2}},
      {5, 0, -2, {5, 3, 1}},
      {0, 0, 1, {}},
      {3, 0, 1, {}},
      {-3, 4, 3, {-3, 0, 3}},
      {0, 7, 7, {0}},
      {kMin, kMax, kMax, {kMin, -1, kMax - 1}},
      {kMax, kMin, kMin, {kMax, -1}},
  };
  for (const auto& c : cases) {
    const auto source = range_source(c.start, c.stop, c.step);
    ASSERT_TRUE(source.ok());
    std::vector<int64_t> values;
    for (uint64_t i = 0; i < (*source)->size(); ++i) values.push_back(value_at(**source, i));
    EXPECT_EQ(values, c.values) << c.start << ' ' << c.stop << ' ' << c.step;
  }
  EXPECT_FALSE(range_source(0, 3, 0).ok());
  EXPECT_EQ((*range_source(kMin, kMax))->size(), ~uint64_t{0});
}

TEST(Range, IsABareScalarAndComesBackFromItsDescription) {
  MemoryStore store;
  const auto source = *range_source(2, 10, 3);
  EXPECT_EQ(source->schema().structure, "0");
  EXPECT_TRUE(source->resident());
  const auto again = open_described(store, *Value::parse(source->describe().dump()));
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ((*again)->fingerprint(), source->fingerprint());
  EXPECT_EQ(value_at(**again, 2), 8);
}

TEST(Range, GatherEqualsGet) {
  MemoryStore store;
  const auto source = *range_source(10, 0, -1);
  const auto block = *drive_block(*source, 0, store);
  const std::vector<uint64_t> rows{3, 0, 9, 9};
  std::vector<int64_t> out(4);
  ASSERT_TRUE(block->gather(rows, 0, reinterpret_cast<std::byte*>(out.data())));
  EXPECT_THAT(out, ::testing::ElementsAre(7, 10, 1, 1));
}

TEST(Arrays, RowsAreSlicesOfTheSameBytes) {
  MemoryStore store;
  const Tensor x = tensor_of<float>({1, 2, 3, 4, 5, 6}, DType::f32, {3, 2});
  const Tensor y = tensor_of<int64_t>({7, 8, 9}, DType::i64, {3});
  const auto source = array_source(Schema::of({"x", "y"}, {}), {x, y});
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "x: float32 (2), y: int64 ()");
  const auto fields = *read_sample(**source, 1, store);
  EXPECT_EQ(fields[0].view().as<float>()[1], 4);
  EXPECT_EQ(fields[1].view().as<int64_t>()[0], 8);
  EXPECT_EQ(fields[0].buffer, x.buffer);
  EXPECT_EQ((*source)->where(1).text(), "row 1 of arrays");
}

TEST(Arrays, GatherEqualsGetForEveryStrideAndOrder) {
  MemoryStore store;
  for (const int64_t width : {1, 2, 3, 4, 8, 17}) {
    std::vector<uint8_t> values(static_cast<size_t>(50 * width));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 31);
    const auto source = *array_source(Schema::of({"x"}, {}), {tensor_of(values, DType::u8, {50, width})});
    const auto block = *drive_block(*source, 0, store);
    for (const std::vector<uint64_t>& rows :
         {std::vector<uint64_t>{0, 1, 2, 3}, {49, 0, 7}, {5, 6, 7, 7, 8, 2, 3}, {4}, {}}) {
      std::vector<uint8_t> out(rows.size() * static_cast<size_t>(width)), expected;
      ASSERT_TRUE(block->gather(rows, 0, reinterpret_cast<std::byte*>(out.data())));
      for (const uint64_t row : rows) {
        std::vector<Tensor> fields;
        ASSERT_TRUE(block->get(row, fields).ok());
        const auto* begin = fields[0].view().as<uint8_t>();
        expected.insert(expected.end(), begin, begin + width);
      }
      EXPECT_EQ(out, expected) << width;
    }
  }
}

TEST(Arrays, TextIsOneTensorARow) {
  MemoryStore store;
  Tensor words;
  words.shape = {2};
  words.rows = std::make_shared<const RowList>(std::vector<Tensor>{text_tensor("ab"), text_tensor("c")});
  const auto source = *array_source(Schema::of({"word"}, {}), {words});
  EXPECT_EQ(source->schema().text(), "word: str");
  EXPECT_EQ((*read_sample(*source, 1, store))[0].shape, Shape{1});
}

TEST(Arrays, ErrorsSayWhichColumn) {
  const Tensor three = tensor_of<int64_t>({7, 8, 9}, DType::i64, {3}),
               two = tensor_of<int64_t>({7, 8}, DType::i64, {2});
  Tensor torn = three;
  torn.shape = {4};
  Tensor huge = three;
  huge.shape = {0, int64_t{1} << 60, 64};
  const struct {
    std::vector<Tensor> columns;
    const char* text;
  } cases[] = {
      {{three, two}, "'a' with 3 rows and 'b' with 2"},
      {{scalar(int64_t{1}), two}, "'a': expected an axis 0"},
      {{torn, two}, "'a': expected 32 bytes, got 24"},
      {{three}, "2 names and 1 columns"},
      {{huge, two}, "'a': expected a shape that fits in memory"},
      {{text_tensor("abc"), three}, "'a': expected one tensor per row"},
  };
  for (const auto& c : cases) {
    const auto source = array_source(Schema::of({"a", "b"}, {}), c.columns);
    ASSERT_FALSE(source.ok()) << c.text;
    EXPECT_THAT(std::string(source.status().text()), HasSubstr(c.text));
  }
}

TEST(Arrays, FingerprintIsOfTheContentAndPlansNameTheSlot) {
  MemoryStore store;
  const auto make = [](std::vector<int64_t> values, const char* slot) {
    return *array_source(Schema::of({"a"}, {}), {tensor_of(values, DType::i64, {2})}, slot);
  };
  EXPECT_EQ(make({1, 2}, "s")->fingerprint(), make({1, 2}, "t")->fingerprint());
  EXPECT_NE(make({1, 2}, "s")->fingerprint(), make({1, 3}, "s")->fingerprint());
  EXPECT_EQ(
      make({1, 2}, "mine")->describe().dump(),
      R"({"format":"arrays","slot":"mine","names":["a"],"specs":[["i64",[]]],"structure":"{\"a\":0}"})");
  EXPECT_THAT(std::string(open_described(store, make({1, 2}, "mine")->describe()).status().text()),
              HasSubstr("slot 'mine'"));
}

}  // namespace
}  // namespace headrace
