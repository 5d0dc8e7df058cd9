#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/formats/testing/write_and_read.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

// A field of every dtype as a number, an array and a run, and strings; empty runs among them. The order is
// not that of the names.
Table table(size_t rows) {
  std::vector<std::string> names;
  std::vector<TensorSpec> specs;
  for (int i = kDTypes - 1; i >= 0; --i) {
    const auto dtype = static_cast<DType>(i);
    const std::string name(dtype_name(dtype));
    const std::pair<std::string, Shape> shapes[] = {
        {name, {}}, {"array/of " + name, {2, 3}}, {"run/" + name, {kAny}}, {"boxes/of/" + name, {kAny, 2}}};
    for (const auto& [field, shape] : shapes) {
      const bool is_run = shape.rank() == 1;
      if (is_text(dtype) != (is_text(dtype) && is_run)) continue;
      if (dtype == DType::u8 && is_run) continue;  // comes back as bytes
      names.push_back(field), specs.push_back({dtype, shape});
    }
  }
  names.push_back("nothing"), specs.push_back({DType::i32, {2, 0}});
  Table out{Schema::of(std::move(names), std::move(specs)), {}};
  for (size_t row = 0; row < rows; ++row) {
    std::vector<Tensor>& fields = out.samples.emplace_back();
    for (size_t f = 0; f < out.schema.size(); ++f) {
      Shape shape = out.schema.specs[f].shape;
      const bool is_long = row % 17 == 3 && f % 5 == 0;  // some have a heap of their own
      if (shape.rank() > 0 && shape[0] == kAny)
        shape.set(0, static_cast<int64_t>((row + f) % 4 * (row % 3) + (is_long ? 9000 : 0)));
      fields.push_back(element(out.schema.specs[f].dtype, shape, row + f));
    }
  }
  return out;
}

std::string written_and_read(const Table& given, const Value& options) {
  const TemporaryFolder folder;
  const Status status = write_samples("hdf5", folder / "a.h5", given.schema, given.samples, options);
  if (!status.ok()) return std::string(status.text());
  const auto back = read_samples(folder / "a.h5");
  if (!back.ok()) return std::string(back.status().text());
  if (back->schema != given.schema) return back->schema.text();
  return difference(given.samples, back->samples);
}

TEST(Hdf5Writer, EveryKindOfFieldComesBack) {
  for (const size_t rows : {0, 1, 41})
    for (const char* compression : {"none", "gzip"})
      for (const Value& chunk : {Value(), Value(1), Value(7), Value(41)})
        EXPECT_EQ(written_and_read(table(rows),
                                   options_of({{"compression", compression}, {"rows_per_chunk", chunk}})),
                  "")
            << rows << compression << chunk.dump();
}

// More chunks than two tree levels can hold.
TEST(Hdf5Writer, ManyChunksAreFound) {
  Table given{Schema::of({"x", "t"}, {{DType::u16, {}}, {DType::str, {kAny}}}), {}};
  for (int i = 0; i < 5000; ++i)
    given.samples.push_back(
        {number(DType::u16, static_cast<uint16_t>(i)), text_tensor("t" + std::to_string(i))});
  EXPECT_EQ(written_and_read(given, options_of({{"rows_per_chunk", 1}})), "");
  EXPECT_EQ(written_and_read(given, options_of({{"rows_per_chunk", 1}, {"compression", "gzip"}})), "");
}

TEST(Hdf5Writer, WhatTheSourceSaysOfItselfComesBack) {
  const Value about = options_of({{"classes", Value::List{"cat", "dög"}}, {"files", "not these"}});
  const Table given = table(3);
  const TemporaryFolder folder;
  ASSERT_TRUE(write_samples("hdf5", folder / "a", given.schema, given.samples, options_of({}), about).ok());
  const auto back = read_samples(folder / "a");
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back->metadata.dump(), R"({"files":1,"group":"/","classes":["cat","dög"]})");
}

TEST(Hdf5Writer, AFileAppearsWhenItIsFinished) {
  const TemporaryFolder folder;
  WriteRequest request;
  request.path = folder / "a.h5", request.schema = table(0).schema;
  {
    const auto writer = find_writer("hdf5")->make(request);
    ASSERT_TRUE(writer.ok()) << writer.status().text();
    ASSERT_TRUE((*writer)->add(table(1).samples[0]).ok());
  }
  EXPECT_FALSE(file_store()->info(folder / "a.h5").ok());
}

std::string error_of(const std::vector<std::string>& names, const TensorSpec& spec,
                     const Value& options = Value(Value::Object()), const Samples& samples = {}) {
  const TemporaryFolder folder;
  const Schema schema = Schema::of(names, std::vector<TensorSpec>(names.size(), spec));
  return std::string(write_samples("hdf5", folder / "a", schema, samples, options).text());
}

TEST(Hdf5Writer, WhatHdf5HasNoPlaceForIsNamed) {
  EXPECT_THAT(error_of({"x"}, {DType::u8, {kAny, kAny, 3}}),
              HasSubstr("'x': hdf5 can have only one free dimension"));
  EXPECT_THAT(error_of({"x"}, {DType::u8, {3, kAny}}),
              HasSubstr("can have only one free dimension, the first"));
  EXPECT_THAT(error_of({"a", "a/b"}, {DType::u8, {}}), HasSubstr("both a field 'a' and one below it"));
  EXPECT_THAT(error_of({"a//b"}, {DType::u8, {}}), HasSubstr("names that are parts of a path"));
  EXPECT_THAT(error_of({"x"}, {DType::u8, {}}, options_of({{"compression", "lz4"}})),
              HasSubstr("must be \"none\" or"));
  EXPECT_THAT(error_of({"x"}, {DType::u8, {}}, options_of({{"level", 10}})),
              HasSubstr("level must be 1 to 9, got 10"));
  EXPECT_THAT(error_of({"x"}, {DType::str, {kAny}}, {}, {{text_tensor(std::string_view("a\0b", 3))}}),
              HasSubstr("'x': hdf5 cannot store a NUL in a string"));
}

}  // namespace
}  // namespace headrace
