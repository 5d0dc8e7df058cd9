#include "headrace/formats/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/formats/testing/write_and_read.h"

namespace headrace {
namespace {

const TensorSpec kText{DType::str, {kAny}}, kBytes{DType::bytes, {kAny}}, kRun{DType::i64, {kAny}};

// Whether the first two fields are one column, next to a third field.
bool are_one(std::vector<std::string> names, std::vector<TensorSpec> specs) {
  return columns_of(names, specs).size() < names.size();
}

TEST(Columns, TextsAndTheirLengthsAreOneWhereTheyStandSideBySide) {
  EXPECT_TRUE(are_one({"x/values", "x/lengths"}, {kText, kRun}));
  EXPECT_TRUE(are_one({"x/values", "x/lengths"}, {kBytes, kRun}));
  EXPECT_TRUE(are_one({"a/x/values", "a/x/lengths", "a/y"}, {kText, kRun, kRun}));
  EXPECT_FALSE(are_one({"x/lengths", "x/values"}, {kRun, kText}));
  EXPECT_FALSE(are_one({"x/values", "y", "x/lengths"}, {kText, kRun, kRun}));
  EXPECT_FALSE(are_one({"x/values", "x/lengths", "x"}, {kText, kRun, kRun}));
  EXPECT_FALSE(are_one({"x/values", "x/lengths"}, {kRun, kRun}));
  EXPECT_FALSE(are_one({"x/values", "x/lengths"}, {kText, {DType::i64, {2}}}));
  EXPECT_FALSE(are_one({"x/values", "x/lengths"}, {kText, {DType::i32, {kAny}}}));
  EXPECT_EQ(schema_of({"y", "x/values", "x/lengths"}, {kText, kText, kRun}).structure,
            R"({"y":0,"x":{"values":1,"lengths":2}})");
}

TEST(Columns, LengthsCutAllOfTheTextsBetweenCharacters) {
  const auto said = [](const char* text, const std::vector<int64_t>& lengths, DType dtype = DType::str) {
    const FieldColumn column{"x", {dtype, {kAny}}, 0, true};
    const std::vector<Tensor> fields = {text_tensor(text, dtype),
                                        numbers(DType::i64, {std::ssize(lengths)}, lengths)};
    const Status status = column.check(fields);
    if (!status.ok()) return std::string(status.text());
    std::string out;
    for_each_text(column, fields, [&](std::string_view one) { out.append("|").append(one); });
    return out;
  };
  EXPECT_EQ(said("", {}), "");
  EXPECT_EQ(said("", {0, 0}), "||");
  EXPECT_EQ(said("abä", {2, 0, 2}), "|ab||ä");
  EXPECT_EQ(said("ä", {1, 1}, DType::bytes), "|\xC3|\xA4");
  EXPECT_EQ(said("abc", {2}), "field 'x': expected lengths that add up to the 3 bytes of its strings, got 2");
  EXPECT_EQ(
      said("abc", {2, 2}),
      "field 'x': expected lengths that add up to the 3 bytes of its strings, got a length of 2 after 2 "
      "bytes");
  EXPECT_EQ(
      said("abc", {4, -1}),
      "field 'x': expected lengths that add up to the 3 bytes of its strings, got a length of 4 after 0 "
      "bytes");
  EXPECT_EQ(
      said("abc", {3, -1, 1}),
      "field 'x': expected lengths that add up to the 3 bytes of its strings, got a length of -1 after 3 "
      "bytes");
  EXPECT_EQ(
      said("", {1}),
      "field 'x': expected lengths that add up to the 0 bytes of its strings, got a length of 1 after 0 "
      "bytes");
  EXPECT_EQ(
      said("bä", {2, 0, 1}),
      "field 'x': expected lengths that end between characters, got one that ends inside a character, at "
      "byte 2");
}

}  // namespace
}  // namespace headrace
