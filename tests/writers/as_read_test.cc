// What a writer says that its reader will give is what it gives, and shards of every format are one data set.
#include <gtest/gtest.h>

#include <algorithm>

#include "headrace/formats/columns.h"
#include "headrace/formats/dataset/dataset_writer.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/testing/write_and_read.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

constexpr int64_t kSamples = 40;

struct Case {
  const char* name;
  const char* target;
  Schema schema;
  std::vector<Tensor> (*sample)(int64_t i);
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

const TensorSpec kBytes{DType::bytes, {kAny}};

Tensor payload(int64_t i) {
  return text_tensor(std::string(static_cast<size_t>(i * i * 7 % 5000 + 1), static_cast<char>('a' + i % 26)),
                     DType::bytes);
}
std::vector<Tensor> image_and_label(int64_t i) { return {payload(i), number(DType::i64, i % 5)}; }

std::vector<Case> cases() {
  const Schema labelled = Schema::of({"image", "label"}, {kBytes, {DType::i64, {}}});
  return {
      {"arrow", "a.arrow", labelled, image_and_label},
      {"csv", "a.csv", Schema::of({"n", "t", "x"}, {{DType::u8, {}}, {DType::str, {kAny}}, {DType::f32, {}}}),
       [](int64_t i) -> std::vector<Tensor> {
         const uint32_t nan = 0xFFC00001u + static_cast<uint32_t>(i);
         return {number(DType::u8, i), text_tensor(std::string(static_cast<size_t>(i % 3), '"')),
                 i % 2 == 0 ? make_tensor({DType::f32, {}, reinterpret_cast<const std::byte*>(&nan)})
                            : numbers<float>(DType::f32, {}, {0.1f})};
       }},
      {"jsonl", "a.jsonl", Schema::of({"t", "x"}, {{DType::str, {kAny}}, {DType::f32, {kAny, 2}}}),
       [](int64_t i) -> std::vector<Tensor> {
         return {text_tensor("a\n\"" + std::to_string(i)),
                 numbers<float>(DType::f32, {i % 2, 2}, {0.1f, static_cast<float>(i)})};
       }},
      {"jsonl_texts", "a.jsonl",
       schema_of({"x/values", "x/lengths"}, {{DType::str, {kAny}}, {DType::i64, {kAny}}}),
       [](int64_t i) -> std::vector<Tensor> {
         const std::vector<int64_t> lengths = {2, 0, i};
         return {text_tensor("ä" + std::string(static_cast<size_t>(i), '"')),
                 numbers<int64_t>(DType::i64, {3}, lengths)};
       }},
      {"hdf5", "a.h5", labelled, image_and_label},
      {"hdf5_runs", "a.h5", Schema::of({"y", "x"}, {{DType::u8, {kAny}}, {DType::f32, {kAny}}}),
       [](int64_t i) -> std::vector<Tensor> {
         return {numbers<uint8_t>(DType::u8, {i % 3}, {1, 2, 3}),
                 numbers<float>(DType::f32, {i % 2 + 1}, {0.5f, -1})};
       }},
      {"lmdb", "a.lmdb", Schema::of({"x"}, {kBytes}),
       [](int64_t i) -> std::vector<Tensor> { return {payload(i)}; }},
      {"lmdb_keys", "a.lmdb", Schema::of({"key", "x"}, {{DType::str, {kAny}}, kBytes}),
       [](int64_t i) -> std::vector<Tensor> {
         return {text_tensor("k" + std::to_string(100 + i)), payload(i)};
       }},
      {"lmdb_datum", "a.lmdb", labelled, image_and_label},
      {"lmdb_file", "a.mdb", labelled, image_and_label},
      {"npy", "a.npy", Schema::of({"x"}, {{DType::f32, {2}}}),
       [](int64_t i) -> std::vector<Tensor> {
         return {numbers<float>(DType::f32, {2}, {0.5f, static_cast<float>(i)})};
       }},
      {"mds", "a.mds", Schema::of({"y", "x", "z"}, {{DType::f32, {kAny, 2}}, kBytes, {DType::u16, {3}}}),
       [](int64_t i) -> std::vector<Tensor> {
         return {numbers<float>(DType::f32, {i % 3, 2}, {0.5f, -1, 3, static_cast<float>(i)}), payload(i),
                 numbers<uint16_t>(DType::u16, {3}, {1, 2, 65535})};
       }},
      {"recordio", "a.rec", labelled, image_and_label},
      {"recordio_rows", "a.rec", Schema::of({"y", "x"}, {{DType::f32, {kAny}}, kBytes}),
       [](int64_t i) -> std::vector<Tensor> {
         return {numbers<float>(DType::f32, {i % 3 + 1}, {0.5f, -1, static_cast<float>(i)}), payload(i)};
       }},
      {"recordio_bytes", "a.rec", Schema::of({"x"}, {kBytes}),
       [](int64_t i) -> std::vector<Tensor> { return {payload(i)}; }},
  };
}

class AsRead : public ::testing::TestWithParam<Case> {};

// Hashes of the samples, in order; the error if there was one.
Result<std::vector<uint64_t>> hashes_read(const std::string& path, const std::string& format,
                                          const Value& options) {
  HEADRACE_ASSIGN(const ReadBack back,
                  read_samples(path, format, options.is_null() ? Value(Value::Object()) : options));
  std::vector<uint64_t> out;
  for (const std::vector<Tensor>& fields : back.samples) out.push_back(sample_hash(fields));
  return out;
}

TEST_P(AsRead, IsWhatTheReaderGives) {
  const TemporaryFolder folder;
  for (const uint64_t shards : {0, 1, 3}) {
    const std::string target = shards == 0 ? folder / GetParam().target : folder / std::to_string(shards);
    WriterRequest request;
    request.schema = GetParam().schema, request.num_samples = kSamples;
    const auto chosen = choose_writer(GetParam().target, "", Value(Value::Object()));
    ASSERT_TRUE(chosen.ok()) << chosen.status().text();
    request.options.format = chosen->info->name, request.options.options = chosen->options;
    request.options.shards = shards;
    const auto writer = DatasetWriter::make(target, request);
    ASSERT_TRUE(writer.ok()) << writer.status().text();
    for (int64_t i = 0; i < kSamples; ++i) {
      while ((*writer)->is_shard_full()) ASSERT_TRUE((*writer)->end_shard(i).ok());
      const Status status = (*writer)->add(GetParam().sample(i));
      ASSERT_TRUE(status.ok()) << status.text();
    }
    const Status status = (*writer)->close();
    ASSERT_TRUE(status.ok()) << status.text();
    std::vector<uint64_t> wanted;
    for (const auto& of_shard : (*writer)->closed().hashes)
      wanted.insert(wanted.end(), of_shard.begin(), of_shard.end());
    const auto written = (*writer)->finish();
    ASSERT_TRUE(written.ok()) << written.status().text();
    const auto got = hashes_read(target, chosen->info->name, (*writer)->read_with());
    ASSERT_TRUE(got.ok()) << got.status().text();
    EXPECT_EQ(*got, wanted) << shards;
  }
}
INSTANTIATE_TEST_SUITE_P(Writers, AsRead, ::testing::ValuesIn(cases()),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace headrace
