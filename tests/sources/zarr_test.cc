#include "headrace/codecs/zstd/testing.h"
#include "headrace/formats/format.h"
#include "headrace/formats/zarr/testing.h"
#include "tests/sources/small_files.h"

namespace headrace::trial {
namespace {

using namespace zarr;

// The store lies in a folder; files are given in the order of their names.
Result<SourceOpeningPtr> open_store(const std::vector<SourceFile>& files) {
  const std::string& first = files[0].path;
  const size_t root = first.find(".zarr/") + 5;
  auto listing = std::make_shared<Listing>();
  for (const SourceFile& file : files) listing->files.add(file.path.substr(root + 1));
  OpenRequest request;
  request.probes.resize(1);
  request.probes[0].path = first.substr(0, root);
  request.probes[0].info.is_directory = true;
  request.probes[0].listing = listing;
  HEADRACE_ASSIGN(SourceOpening opening, find_format("zarr")->open(request));
  return std::move(opening.steps);
}

SourceCase store_case(Files files) {
  SourceCase out;
  std::ranges::sort(files);
  for (auto& [name, bytes] : files) out.files.emplace_back("data/x.zarr/" + name, std::move(bytes));
  out.open = open_store;
  return out;
}

std::vector<uint16_t> zarr_pixels(int begin, int count) {
  std::vector<uint16_t> out;
  for (int i = begin; i < begin + count; ++i) out.push_back(static_cast<uint16_t>(i * 37));
  return out;
}

std::string image_field(int row) {
  return field_text(DType::u16, {2, 3}, as_bytes_of(zarr_pixels(6 * row, 6)));
}

// Two arrays of version 2: plain chunks, and one packed; labels are kept.
SourceCase plain_zarr_case() {
  std::vector<int64_t> labels;
  for (int row = 0; row < 6; ++row) labels.push_back(row * 1000 - 3);
  SourceCase out = store_case(
      {{"image/.zarray", array_v2("[6,2,3]", "[2,2,3]", "<u2")},
       {"image/0.0.0", as_bytes_of(zarr_pixels(0, 12))},
       {"image/1.0.0", as_bytes_of(zarr_pixels(12, 12))},
       {"image/2.0.0", as_bytes_of(zarr_pixels(24, 12))},
       {"label/.zarray", array_v2("[6]", "[6]", "<i8", R"("compressor":{"id":"zstd"},"fill_value":7)")},
       {"label/0", in_zstd_frames(as_bytes_of(labels))}});
  for (int row = 0; row < 6; ++row)
    out.samples.push_back(image_field(row) +
                          field_text(DType::i64, {}, number_bytes(labels[static_cast<size_t>(row)])));
  return out;
}

// Shards of version 3: arrays cut along both axes, with a chunk that is not there; and texts.
SourceCase sharded_case() {
  const auto chunk = [](int row) { return in_zstd_frames(as_bytes_of(zarr_pixels(6 * row, 12))); };
  const auto texts = [](const std::string& a, const std::string& b) {
    return as_bytes_of<uint32_t>({2}) + as_bytes_of<uint32_t>({static_cast<uint32_t>(a.size())}) + a +
           as_bytes_of<uint32_t>({static_cast<uint32_t>(b.size())}) + b;
  };
  const std::string bytes = "[" + kLittle + "," + kZstd + "]";
  SourceCase out = store_case(
      {{"zarr.json", kGroup},
       {"image/zarr.json", array_v3("[6,2,3]", "[4,2,3]", "uint16", sharded("[2,2,3]", bytes), "9")},
       {"image/c/0/0/0", shard_of({chunk(0), ""})},
       {"image/c/1/0/0", shard_of({chunk(4), ""})},
       {"name/zarr.json", array_v3("[6]", "[4]", "string", sharded("[2]", R"(["vlen-utf8"])"), R"("none")")},
       {"name/c/0", shard_of({texts("a", "bc"), texts("", "ä")})}});
  const std::vector<std::string> names{"a", "bc", "", "ä", "none", "none"};
  for (int row = 0; row < 6; ++row) {
    const bool is_there = row / 2 != 1;
    out.samples.push_back((is_there
                               ? image_field(row)
                               : field_text(DType::u16, {2, 3}, as_bytes_of(std::vector<uint16_t>(6, 9)))) +
                          text_field(DType::str, names[static_cast<size_t>(row)]));
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(ZarrPlain, SourceConformance, ::testing::Values(plain_zarr_case));
INSTANTIATE_TEST_SUITE_P(ZarrSharded, SourceConformance, ::testing::Values(sharded_case));

}  // namespace
}  // namespace headrace::trial
