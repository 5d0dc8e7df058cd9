#include "headrace/codecs/deflate/testing.h"
#include "headrace/formats/mds/testing.h"
#include "tests/sources/conformance.h"

namespace headrace::trial {
namespace {

const std::vector<MdsTestColumn> kMdsColumns = {
    {"boxes", "ndarray:float32"}, {"image", "jpeg"}, {"label", "int", 8}, {"size", "ndarray:int32:2", 8}};

// Values of one sample, and what they are read as.
std::string sample_of(uint64_t i, std::string& text) {
  const std::string image(7 * i, 'x'), numbers = mds_bytes(1.5f) + mds_bytes(static_cast<float>(i));
  const std::string size = mds_bytes(static_cast<int32_t>(i)) + mds_bytes(int32_t{-1});
  text = field_text(DType::f32, {1, 2}, numbers) +
         field_text(DType::bytes, {static_cast<int64_t>(image.size())}, image) +
         field_text(DType::i64, {}, mds_bytes(i)) + field_text(DType::i32, {2}, size);
  const std::string boxes = std::string("\x08\x01\x02", 3) + numbers;
  return mds_sample(kMdsColumns, {boxes, image, mds_bytes(i), size});
}

SourceCase mds_case(bool is_packed) {
  SourceCase out;
  std::vector<MdsTestShard> shards;
  for (const auto& [begin, end] : {std::pair<uint64_t, uint64_t>{0, 5}, {5, 8}}) {
    std::vector<std::string> samples;
    for (uint64_t i = begin; i < end; ++i) samples.push_back(sample_of(i, out.samples.emplace_back()));
    MdsTestShard shard{"shard." + std::to_string(begin) + ".mds", mds_shard(samples), samples.size()};
    if (is_packed) {
      shard.packed_name = shard.name + ".gz", shard.compression = "gz:6";
      shard.packed = deflated(shard.bytes, Wrap::gzip);
    }
    out.files.emplace_back("data/" + (is_packed ? shard.packed_name : shard.name),
                           is_packed ? shard.packed : shard.bytes);
    shards.push_back(std::move(shard));
  }
  out.open = by_registered_format("mds", {}, mds_index(kMdsColumns, shards));
  out.is_checksummed = is_packed;
  return out;
}

SourceCase plain_mds() { return mds_case(false); }
SourceCase packed_mds() { return mds_case(true); }
INSTANTIATE_TEST_SUITE_P(Mds, SourceConformance, ::testing::Values(plain_mds, packed_mds));

}  // namespace
}  // namespace headrace::trial
