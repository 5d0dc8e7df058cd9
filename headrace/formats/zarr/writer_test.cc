#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "headrace/formats/testing/write_and_read.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

// A field of every dtype as a number and an array, and strings. The order is not that of the names.
Table zarr_table(size_t rows) {
  std::vector<std::string> names;
  std::vector<TensorSpec> specs;
  for (int i = kDTypes - 1; i >= 0; --i) {
    const auto dtype = static_cast<DType>(i);
    const std::string name(dtype_name(dtype));
    if (dtype == DType::bf16) continue;
    names.push_back(name), specs.push_back({dtype, is_text(dtype) ? Shape{kAny} : Shape{}});
    if (is_text(dtype)) continue;
    names.push_back("array/of " + name), specs.push_back({dtype, {2, 3}});
  }
  names.push_back("nothing"), specs.push_back({DType::i32, {2, 0}});
  Table out{Schema::of(std::move(names), std::move(specs)), {}};
  for (size_t row = 0; row < rows; ++row) {
    std::vector<Tensor>& fields = out.samples.emplace_back();
    for (size_t f = 0; f < out.schema.size(); ++f) {
      Shape shape = out.schema.specs[f].shape;
      if (shape.rank() > 0 && shape[0] == kAny)
        shape.set(0, static_cast<int64_t>((row + f) % 4 * (row % 3) * 9000));
      fields.push_back(element(out.schema.specs[f].dtype, shape, row + f));
    }
  }
  return out;
}

std::string zarr_written_and_read(const Table& given, const Value& options) {
  const TemporaryFolder folder;
  const Status status = write_samples("zarr", folder / "a.zarr", given.schema, given.samples, options);
  if (!status.ok()) return std::string(status.text());
  const auto back = read_samples(folder / "a.zarr");
  if (!back.ok()) return std::string(back.status().text());
  if (back->schema != given.schema) return back->schema.text();
  return difference(given.samples, back->samples);
}

TEST(ZarrWriter, EveryKindOfFieldComesBack) {
  for (const size_t rows : {0, 1}) EXPECT_EQ(zarr_written_and_read(zarr_table(rows), options_of({})), "");
  for (const char* compression : {"none", "gzip"})
    EXPECT_EQ(zarr_written_and_read(zarr_table(41), options_of({{"compression", compression}})), "");
  for (const Value& chunk : {Value(1), Value(7), Value(41)})
    EXPECT_EQ(zarr_written_and_read(zarr_table(41), options_of({{"rows_per_chunk", chunk}})), "");
  EXPECT_EQ(zarr_written_and_read(zarr_table(41), options_of({{"rows_per_chunk", 3}, {"rows_per_shard", 6}})),
            "");
}

// Writes and reads such strings: the size of the store and its rows per chunk, or an error.
struct Written {
  std::string why;
  uint64_t chunk_rows = 0, bytes = 0;
};
Written texts_written(const std::vector<size_t>& lengths, const Value& options = options_of({})) {
  const TemporaryFolder folder;
  Table given{Schema::of({"text"}, {{DType::bytes, {kAny}}}), {}};
  std::map<size_t, Tensor> texts;  // shared by strings of the same length
  for (const size_t length : lengths) {
    if (!texts.contains(length))
      texts.emplace(length, element(DType::bytes, {static_cast<int64_t>(length)}, length));
    given.samples.push_back({texts.at(length)});
  }
  const Status status = write_samples("zarr", folder / "a.zarr", given.schema, given.samples, options);
  if (!status.ok()) return {std::string(status.text())};
  const auto back = read_samples(folder / "a.zarr");
  if (!back.ok()) return {std::string(back.status().text())};
  Written out{difference(given.samples, back->samples)};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "a.zarr"))
    if (entry.is_regular_file()) out.bytes += entry.file_size();
  std::ifstream file(folder / "a.zarr/text/zarr.json");
  const auto node = Value::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  const Value& codec = (*node->find("codecs")->list())[0];
  out.chunk_rows =
      static_cast<uint64_t>(*(*codec.find("configuration")->find("chunk_shape")->list())[0].integer());
  return out;
}

std::vector<size_t> lengths_of(const std::vector<std::pair<size_t, size_t>>& counts_and_lengths) {
  std::vector<size_t> out;
  for (const auto& [count, length] : counts_and_lengths) out.insert(out.end(), count, length);
  return out;
}

TEST(ZarrWriter, TheFirstTextsDoNotSayWhatChunksAre) {
  struct Case {
    const char* what;
    std::vector<std::pair<size_t, size_t>> counts_and_lengths;
    uint64_t least_rows, most_rows;
  };
  const Case cases[] = {
      {"empty ones, then large ones", {{16'384, 0}, {100, 140'000}}, 4, 16},
      {"a large one, then short ones", {{1, 70'000}, {400'000, 16}}, 1000, 2000},
      {"a very large one among short ones", {{200, 1000}, {1, 3'000'000}, {5000, 1000}}, 16, 64},
      {"short ones", {{300'000, 12}}, 4096, 4096},
      {"few", {{50, 16}}, 50, 50},
      {"large ones", {{50, 140'000}}, 1, 1},
  };
  for (const Case& one : cases) {
    const Written written = texts_written(lengths_of(one.counts_and_lengths));
    EXPECT_EQ(written.why, "") << one.what;
    EXPECT_GE(written.chunk_rows, one.least_rows) << one.what;
    EXPECT_LE(written.chunk_rows, one.most_rows) << one.what;
  }
}

TEST(ZarrWriter, ChunksThatGrowTooLargeSayWhichRowAndWhatHelps) {
  EXPECT_THAT(
      texts_written(lengths_of({{10, 0}, {3, 100 << 20}}), options_of({{"rows_per_chunk", 20}})).why,
      HasSubstr("zarr chunks can have at most 256 MiB, got 314572852 bytes with row 12; instead of 20 "
                "set rows_per_chunk=1 or so"));
}

TEST(ZarrWriter, WhatTheSourceSaidComesBack) {
  const TemporaryFolder folder;
  const Table given = zarr_table(3);
  const Value said = options_of({{"classes", Value::List{"cat", "dog"}}});
  ASSERT_TRUE(
      write_samples("zarr", folder / "a.zarr", given.schema, given.samples, options_of({}), said).ok());
  const auto back = read_samples(folder / "a.zarr");
  ASSERT_TRUE(back.ok()) << back.status().text();
  EXPECT_EQ(*back->metadata.find("classes"), *said.find("classes"));
}

TEST(ZarrWriter, RefusesByName) {
  const TemporaryFolder folder;
  const auto why = [&](const std::string& name, const TensorSpec& spec,
                       const Value& options = options_of({})) {
    const Schema schema = Schema::of({name}, {spec});
    return std::string(write_samples("zarr", folder / "a.zarr", schema, {}, options).text());
  };
  EXPECT_THAT(
      why("boxes", {DType::f32, {kAny, 4}}),
      HasSubstr("field 'boxes': zarr arrays need a fixed shape, got float32 (?, 4); resize or pad them"));
  EXPECT_THAT(why("x", {DType::bf16, {}}),
              HasSubstr("field 'x': zarr has no data type for bfloat16; cast it"));
  for (const char* name : {"", "a//b", "../a", "a/zarr.json", "headrace.json"})
    EXPECT_THAT(why(name, {DType::u8, {}}), HasSubstr("expected names that are parts of a path")) << name;
  EXPECT_THAT(why("x", {DType::u8, {}}, options_of({{"compression", "lzo"}})), HasSubstr("got \"lzo\""));
  EXPECT_THAT(why("x", {DType::u8, {}}, options_of({{"rows_per_chunk", 4}, {"rows_per_shard", 6}})),
              HasSubstr("a multiple of rows_per_chunk, 4, got 6"));
  EXPECT_THAT(why("x", {DType::u8, {1 << 20}}, options_of({{"rows_per_chunk", 257}})),
              HasSubstr("chunks can have at most 256 MiB, which is 256 rows, got rows_per_chunk=257"));
  const Schema both = Schema::of({"a", "a/b"}, {{DType::u8, {}}, {DType::u8, {}}});
  EXPECT_THAT(write_samples("zarr", folder / "a.zarr", both, {}).text(),
              HasSubstr("both a field 'a' and one below"));
}

}  // namespace
}  // namespace headrace
