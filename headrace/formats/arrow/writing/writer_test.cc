#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/formats/testing/lists_of_texts.h"
#include "headrace/formats/testing/write_and_read.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

// A field of every dtype as a number, an array and a run, and strings; empty runs among them.
Table table(size_t rows) {
  std::vector<std::string> names;
  std::vector<TensorSpec> specs;
  const auto field = [&](std::string name, TensorSpec spec) {
    names.push_back(std::move(name));
    specs.push_back(spec);
  };
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string name(dtype_name(dtype));
    if (dtype == DType::bf16) continue;
    if (is_text(dtype)) {
      field(name, {dtype, {kAny}});
      continue;
    }
    field(name, {dtype, {}});
    field("array/" + name, {dtype, {2, 3}});
    field("run of " + name, {dtype, {kAny}});
    field("boxes of " + name, {dtype, {kAny, 2}});
  }
  field("one", {DType::f32, {1}});
  field("seven", {DType::u16, {1, 2, 1, 2, 1, 2, 1}});
  field("eight", {DType::u8, {kAny, 2, 1, 2, 1, 2, 1, 3}});
  field("nothing", {DType::i32, {2, 0}});
  Table out{Schema::of(std::move(names), std::move(specs)), {}};
  for (size_t row = 0; row < rows; ++row) {
    std::vector<Tensor>& fields = out.samples.emplace_back();
    for (size_t f = 0; f < out.schema.size(); ++f) {
      Shape shape = out.schema.specs[f].shape;
      if (shape.rank() > 0 && shape[0] == kAny) shape.set(0, static_cast<int64_t>((row + f) % 4 * (row % 3)));
      fields.push_back(element(out.schema.specs[f].dtype, shape, row + f));
    }
  }
  return out;
}

std::string written_and_read(const Table& given, const Value& options) {
  const TemporaryFolder folder;
  const Status status = write_samples("arrow", folder / "a.arrow", given.schema, given.samples, options);
  if (!status.ok()) return std::string(status.text());
  const auto back = read_samples(folder / "a.arrow");
  if (!back.ok()) return std::string(back.status().text());
  if (back->schema != given.schema) return back->schema.text();
  return difference(given.samples, back->samples);
}

TEST(ArrowWriter, EveryKindOfFieldComesBack) {
  const Table given = table(41);
  for (const char* compression : {"none", "lz4", "zstd"})
    for (const bool stream : {false, true})
      for (const Value& rows : {Value(), Value(1), Value(7), Value(1000)})
        for (const bool either : {false, true})
          EXPECT_EQ(written_and_read(given, options_of({{"compression", compression},
                                                        {"stream", stream},
                                                        {"rows_per_batch", rows},
                                                        {"large_offsets", either},
                                                        {"tensors", either != stream}})),
                    "")
              << compression << stream << rows.dump() << either;
}

TEST(ArrowWriter, ListsOfTextsComeBack) {
  for (const Table& given : tables_with_lists_of_texts())
    for (const bool either : {false, true})
      EXPECT_EQ(written_and_read(given, options_of({{"rows_per_batch", either ? Value(7) : Value()},
                                                    {"compression", either ? "lz4" : "none"},
                                                    {"large_offsets", either}})),
                "")
          << given.schema.names[0] << given.samples.size();
}

TEST(ArrowWriter, LengthsThatAreNotThoseOfTheTextsAreAnErrorOfTheirSample) {
  const TemporaryFolder folder;
  const auto written = write_one_with_other_lengths("arrow", folder / "a");
  ASSERT_TRUE(written.ok()) << written.status().text();
  EXPECT_THAT(written->refusal,
              HasSubstr("field 'x': expected lengths that add up to the 3 bytes of its strings, got 2"));
  EXPECT_EQ(written->difference, "");
}

TEST(ArrowWriter, ATableWithoutRowsHasItsColumns) {
  for (const bool stream : {false, true})
    EXPECT_EQ(written_and_read(table(0), options_of({{"stream", stream}})), "");
}

TEST(ArrowWriter, WhatTheSourceSaysOfItselfComesBack) {
  const Value about = options_of({{"classes", Value::List{"cat", "dög"}}, {"files", "not these"}});
  const Table given = table(3);
  for (const bool stream : {false, true}) {
    const TemporaryFolder folder;
    const Value options = options_of({{"stream", stream}});
    ASSERT_TRUE(write_samples("arrow", folder / "a", given.schema, given.samples, options, about).ok());
    const auto back = read_samples(folder / "a");
    ASSERT_TRUE(back.ok()) << back.status().text();
    EXPECT_EQ(back->metadata.dump(), R"({"files":1,"batches":1,"classes":["cat","dög"]})");
  }
}

int64_t batches_of(const Samples& samples, const Value& options) {
  const TemporaryFolder folder;
  const Schema schema = Schema::of({"x"}, {{DType::bytes, {kAny}}});
  EXPECT_TRUE(write_samples("arrow", folder / "a", schema, samples, options).ok());
  const auto back = read_samples(folder / "a");
  EXPECT_TRUE(back.ok() && back->samples.size() == samples.size());
  return *back->metadata.find("batches")->integer();
}

TEST(ArrowWriter, BatchesAreAsLargeAsAskedFor) {
  const Samples small(1000, {text_tensor(std::string(1000, 'x'), DType::bytes)});
  EXPECT_EQ(batches_of(small, options_of({{"rows_per_batch", 1}})), 1000);
  EXPECT_EQ(batches_of(small, options_of({{"rows_per_batch", 300}})), 4);
  EXPECT_EQ(batches_of(small, options_of({})), 1);
  EXPECT_EQ(batches_of(small, options_of({{"compression", "lz4"}})), 4);
  const Samples large(5, {text_tensor(std::string(600000, 'x'), DType::bytes)});
  EXPECT_EQ(batches_of(large, options_of({})), 3);
  const Samples empty(70000, {text_tensor("", DType::bytes)});
  EXPECT_EQ(batches_of(empty, options_of({})), 2);
}

std::string error_of(TensorSpec spec, const Value& options = Value(Value::Object())) {
  const TemporaryFolder folder;
  return std::string(write_samples("arrow", folder / "a", Schema::of({"x"}, {spec}), {}, options).text());
}

TEST(ArrowWriter, WhatArrowHasNoColumnForIsNamed) {
  EXPECT_THAT(error_of({DType::bf16, {}}),
              HasSubstr("it has no bfloat16; cast to float32 ('x: bfloat16 ()')"));
  EXPECT_THAT(error_of({DType::u8, {kAny, kAny, 3}}), HasSubstr("only the first dimension may be free"));
  EXPECT_THAT(error_of({DType::u8, {3, kAny}}), HasSubstr("only the first dimension may be free"));
  EXPECT_THAT(error_of({DType::u8, {1, 1, 1, 1, 1, 1, 1, 1}}), HasSubstr("too many dimensions"));
  EXPECT_THAT(error_of({DType::u8, {1 << 13, 1 << 14}}), HasSubstr("too many dimensions or values"));
  EXPECT_THAT(error_of({DType::u8, {}}, options_of({{"compression", "gzip"}})),
              HasSubstr("compression must be \"none\""));
  EXPECT_THAT(error_of({DType::u8, {}}, options_of({{"rows_per_batch", 0}})),
              HasSubstr("rows_per_batch must be 1 or more, got 0"));
}

// Has `length` bytes without memory: only its shape may be read.
Tensor long_text(int64_t length) { return {nullptr, 0, DType::bytes, {length}, nullptr}; }

TEST(ArrowWriter, WhatOffsetsCannotSayIsRefused) {
  const TemporaryFolder folder;
  WriteRequest request;
  request.options = Value(Value::Object()), request.path = folder / "a";
  request.schema = Schema::of({"x"}, {{DType::bytes, {kAny}}});
  const auto writer = find_writer("arrow")->make(request);
  ASSERT_TRUE(writer.ok()) << writer.status().text();
  const Tensor fits = text_tensor("fits", DType::bytes);
  EXPECT_TRUE((*writer)->add({fits}).ok());
  EXPECT_THAT(std::string((*writer)->add({long_text(int64_t{1} << 31)}).text()),
              HasSubstr("field 'x': arrow has 32-bit offsets: expected fewer than 2^31 bytes or items, got "
                        "2147483648; set large_offsets=True"));
  EXPECT_TRUE((*writer)->add({fits}).ok());
  ASSERT_TRUE((*writer)->finish().ok());
  const auto back = read_samples(folder / "a");
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(difference({{fits}, {fits}}, back->samples), "");
}

}  // namespace
}  // namespace headrace
