// Lists of strings, for the tests of writers that store them as columns of their own.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "headrace/formats/columns.h"
#include "headrace/formats/testing/write_and_read.h"

namespace headrace {

// Without strings, with empty ones, of bytes; in structs, next to an image of that name, and without rows.
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
        int64_t size = 0;
        for (size_t i = 0; i < row * 7 % 5; ++i) size += lengths.emplace_back((i + row) % 3);
        for (const TensorSpec& spec : specs)
          fields.push_back(spec == run ? numbers(DType::i64, {std::ssize(lengths)}, lengths)
                                       : element(spec.dtype, {size}, row));
      }
    }
  }
  return out;
}

// Writes three samples, where the lengths of the second do not match its strings. Returns an error for
// anything that goes wrong except its refusal.
struct OneRefused {
  std::string refusal;
  std::string difference;  // of the other two when they are read back
};
inline Result<OneRefused> write_one_with_other_lengths(std::string_view format, const std::string& path) {
  WriteRequest request;
  request.options = Value(Value::Object()), request.path = path;
  request.schema = schema_of({"x/values", "x/lengths"}, {{DType::str, {kAny}}, {DType::i64, {kAny}}});
  HEADRACE_ASSIGN(const auto writer, find_writer(format)->make(request));
  const auto sample = [](const char* text, std::vector<int64_t> lengths) {
    return std::vector<Tensor>{text_tensor(text, DType::str),
                               numbers(DType::i64, {std::ssize(lengths)}, lengths)};
  };
  OneRefused out;
  HEADRACE_TRY(writer->add(sample("abc", {1, 2})));
  out.refusal = writer->add(sample("abc", {1, 1})).text();
  HEADRACE_TRY(writer->add(sample("", {0})));
  HEADRACE_TRY(writer->finish());
  HEADRACE_ASSIGN(const ReadBack back, read_samples(path));
  out.difference = difference({sample("abc", {1, 2}), sample("", {0})}, back.samples);
  return out;
}

}  // namespace headrace
