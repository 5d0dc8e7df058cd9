#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/formats/testing/lists_of_texts.h"
#include "headrace/formats/testing/write_and_read.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

// A field of every dtype as a number, an array and a run, and strings; empty runs among them.
Table parquet_table(size_t rows) {
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

std::string through_parquet(const Table& given, const Value& options) {
  const TemporaryFolder folder;
  const Status status = write_samples("parquet", folder / "a.parquet", given.schema, given.samples, options);
  if (!status.ok()) return std::string(status.text());
  const auto back = read_samples(folder / "a.parquet");
  if (!back.ok()) return std::string(back.status().text());
  if (back->schema != given.schema) return back->schema.text();
  return difference(given.samples, back->samples);
}

TEST(ParquetWriter, EveryKindOfFieldComesBack) {
  const Table given = parquet_table(41);
  for (const char* compression : {"none", "zstd"})
    for (const int64_t rows : {0, 1, 7})
      EXPECT_EQ(through_parquet(
                    given, rows == 0 ? options_of({{"compression", compression}})
                                     : options_of({{"compression", compression}, {"rows_per_group", rows}})),
                "");
}

// A row group that is too large to be read as a whole is read by pages.
TEST(ParquetWriter, LargeRowGroupsAreReadInParts) {
  Table given{Schema::of({"image", "label", "boxes"},
                         {{DType::bytes, {kAny}}, {DType::i64, {}}, {DType::f32, {kAny, 4}}}),
              {}};
  for (size_t row = 0; row < 200; ++row)
    given.samples.push_back({element(DType::bytes, {static_cast<int64_t>(20000 + row * 7)}, row),
                             number<int64_t>(DType::i64, static_cast<int64_t>(row)),
                             element(DType::f32, {static_cast<int64_t>(row % 3), 4}, row)});
  for (const char* compression : {"none", "zstd"})
    EXPECT_EQ(through_parquet(given, options_of({{"compression", compression}})), "");
  const TemporaryFolder folder;
  ASSERT_TRUE(write_samples("parquet", folder / "a.parquet", given.schema, given.samples).ok());
  const auto store = file_store();
  const auto source = open_source(*store, folder / "a.parquet", "parquet", Value());
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->where(150).text(), folder / "a.parquet" + ", row 150 of row group 0");
  uint64_t blocks = 1;
  for (uint64_t i = 1; i < 200; ++i) blocks += (*source)->place(i).block != (*source)->place(i - 1).block;
  EXPECT_GT(blocks, 10u);
}

// Structs where names form a tree, names with slashes where they do not.
TEST(ParquetWriter, MembersOfStructsComeBack) {
  using Specs = std::vector<TensorSpec>;
  const TensorSpec number_of{DType::i64, {}}, bytes{DType::bytes, {kAny}}, text{DType::str, {kAny}};
  const std::vector<std::pair<std::vector<std::string>, Specs>> cases = {
      {{"hw/h", "hw/w", "x"}, {number_of, {DType::f32, {2}}, text}},
      {{"a/b/c", "a/b/d", "a/e"}, {number_of, {DType::f32, {kAny, 2}}, text}},
      {{"image", "image/path", "label"}, {bytes, text, number_of}},
      {{"image/bytes", "image/path", "label"}, {bytes, text, number_of}},
      {{"a", "a/b", "c"}, {number_of, number_of, text}},
      {{"a/b", "c", "a/d"}, {number_of, number_of, text}},
      {{"/a", "b//c", "d/"}, {number_of, number_of, text}},
      {{"a/b", "a/b/c", "d"}, {number_of, number_of, text}}};
  for (const auto& [names, specs] : cases) {
    Table given{Schema::of(names, specs), {}};
    for (size_t row = 0; row < 3; ++row) {
      std::vector<Tensor>& fields = given.samples.emplace_back();
      for (const TensorSpec& spec : specs) {
        Shape shape = spec.shape;
        if (shape.rank() > 0 && shape[0] == kAny) shape.set(0, static_cast<int64_t>(row));
        fields.push_back(element(spec.dtype, shape, row));
      }
    }
    EXPECT_EQ(through_parquet(given, options_of({})), "") << names[0];
  }
}

TEST(ParquetWriter, ListsOfTextsComeBack) {
  for (const Table& given : tables_with_lists_of_texts())
    for (const char* compression : {"none", "zstd"})
      EXPECT_EQ(through_parquet(given, options_of({{"compression", compression}})), "")
          << given.schema.names[0] << given.samples.size();
}

TEST(ParquetWriter, LengthsThatAreNotThoseOfTheTextsAreAnErrorOfTheirSample) {
  const TemporaryFolder folder;
  const auto written = write_one_with_other_lengths("parquet", folder / "a");
  ASSERT_TRUE(written.ok()) << written.status().text();
  EXPECT_THAT(written->refusal,
              HasSubstr("field 'x': expected lengths that add up to the 3 bytes of its strings, got 2"));
  EXPECT_EQ(written->difference, "");
}

TEST(ParquetWriter, WhatItCannotHoldIsRefusedByName) {
  const Table given{Schema::of({"x"}, {{DType::u8, {kAny, kAny}}}), {}};
  EXPECT_THAT(through_parquet(given, options_of({})), HasSubstr("parquet stores numbers, strings, bytes"));
  EXPECT_THAT(through_parquet({Schema::of({"x"}, {{DType::bf16, {}}}), {}}, options_of({})),
              HasSubstr("cast to float32 ('x: bfloat16 ()')"));
  EXPECT_THAT(through_parquet(parquet_table(1), options_of({{"compression", "lzo"}})),
              HasSubstr("compression must be \"none\" or \"zstd\", got \"lzo\""));
  EXPECT_THAT(through_parquet(parquet_table(1), options_of({{"rows_per_group", 0}})),
              HasSubstr("rows_per_group must be 1 or more, got 0"));
}

TEST(ParquetWriter, WhatTheSourceSaidOfItselfComesBack) {
  const TemporaryFolder folder;
  const Table given{Schema::of({"x"}, {{DType::i64, {}}}), {{number<int64_t>(DType::i64, 3)}}};
  // Keys that only describe a reading are not taken from a file, whatever their form.
  const Value about(Value::Object{{"classes", Value::List{"cat", "dog"}},
                                  {"notes", Value::List{7}},
                                  {"left_out_columns", Value::List{7}},
                                  {"left_out", 7},
                                  {"types", 7}});
  ASSERT_TRUE(write_samples("parquet", folder / "a.parquet", given.schema, given.samples,
                            Value(Value::Object()), about)
                  .ok());
  const auto back = read_samples(folder / "a.parquet");
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(back->metadata.dump(), R"({"files":1,"row_groups":1,"classes":["cat","dog"]})");
}

}  // namespace
}  // namespace headrace
