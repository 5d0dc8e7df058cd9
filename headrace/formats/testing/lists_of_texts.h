// Lists of texts, for the tests of writers that hold them as columns of their own.
#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "headrace/formats/columns.h"
#include "headrace/formats/testing/write_and_read.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {

// Of none, of some that are empty, of bytes; in structs, beside an image of that name, and without rows.
inline std::vector<Table> tables_with_lists_of_texts() {
  const TensorSpec text{DType::str, {kAny}}, bytes{DType::bytes, {kAny}}, run{DType::i64, {kAny}};
  std::vector<Table> out;
  for (const auto& [names, specs] : std::vector<std::pair<std::vector<std::string>, std::vector<TensorSpec>>>{
           {{"x/values", "x/lengths"}, {text, run}},
           {{"id", "a/x/values", "a/x/lengths", "a/y"}, {run, bytes, run, text}},
           {{"image/values", "image/lengths", "image/path"}, {bytes, run, text}},
           {{"a/bytes/values", "a/bytes/lengths", "a/path"}, {bytes, run, text}},
           {{"x/values/values", "x/values/lengths", "x/lengths"}, {text, run, run}},
           {{"x/values", "x/lengths", "x/values/values", "x/values/lengths"}, {text, run, text, run}},
           {{"/values", "/lengths"}, {text, run}}}) {
    for (const size_t rows : {0, 1, 50}) {
      Table& given = out.emplace_back(Table{schema_of(names, specs), {}});
      for (size_t row = 0; row < rows; ++row) {
        std::vector<Tensor>& fields = given.samples.emplace_back();
        std::vector<int64_t> lengths;
        for (size_t i = 0; i < row * 7 % 5; ++i) lengths.push_back(static_cast<int64_t>((i + row) % 3));
        const int64_t size = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
        for (const TensorSpec& spec : specs)
          fields.push_back(spec == run ? numbers(DType::i64, {std::ssize(lengths)}, lengths)
                                       : element(spec.dtype, {size}, row));
      }
    }
  }
  return out;
}

// Lengths that are not those of the texts are an error of their sample, and cost no other.
inline void expect_lengths_to_be_checked(const char* format) {
  const TemporaryFolder folder;
  WriteRequest request;
  request.options = Value(Value::Object()), request.path = folder / "a";
  request.schema = schema_of({"x/values", "x/lengths"}, {{DType::str, {kAny}}, {DType::i64, {kAny}}});
  const auto writer = find_writer(format)->make(request);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  const auto sample = [](const char* text, std::vector<int64_t> lengths) {
    return std::vector<Tensor>{text_tensor(text, DType::str),
                               numbers(DType::i64, {std::ssize(lengths)}, lengths)};
  };
  EXPECT_TRUE((*writer)->add(sample("abc", {1, 2})).ok());
  EXPECT_THAT(std::string((*writer)->add(sample("abc", {1, 1})).text()),
              testing::HasSubstr("field 'x': wants lengths that add up to the 3 bytes of its texts, got 2"));
  EXPECT_TRUE((*writer)->add(sample("", {0})).ok());
  ASSERT_TRUE((*writer)->finish().ok());
  const auto back = read_samples(folder / "a");
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(difference({sample("abc", {1, 2}), sample("", {0})}, back->samples), "");
}

}  // namespace headrace
