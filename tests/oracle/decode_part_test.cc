// A part of an image equals the same part of the whole image, whatever the file's sampling, scans and size.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "headrace/codecs/image.h"
#include "headrace/codecs/jpeg/baseline.h"
#include "headrace/codecs/jpeg/turbo.h"
#include "headrace/core/random/key.h"
#include "tests/oracle/encode_jpeg.h"
#include "tests/real_files.h"
#include "tests/run/sweeps.h"

namespace headrace {
namespace {

using testing::encode_jpeg;
using testing::Encoding;
using Bytes = std::span<const std::byte>;

Bytes bytes_of(const std::string& file) { return std::as_bytes(std::span(file)); }

uint64_t below(uint64_t n) {  // a fixed sequence of numbers
  static uint32_t draw = 0;
  return static_cast<uint64_t>(Key(3, 1, {}).below(draw++, static_cast<int64_t>(n)));
}

std::vector<uint8_t> decode_part(const std::string& file, const ImageHeader& header, const Box& part,
                                 Color color, uint8_t garbage, Status& status) {
  const auto row = static_cast<size_t>(header.width * decoded_channels(header, color));
  std::vector<uint8_t> pixels(row * static_cast<size_t>(header.height), garbage);
  Scratch scratch;
  status = decode_image(bytes_of(file), header, color, part, pixels.data(), row, scratch);
  return pixels;
}

Box random_box(const ImageHeader& header) {
  const auto side = [](int64_t size) {
    const int64_t at = static_cast<int64_t>(below(static_cast<uint64_t>(size)));
    const int64_t most = size - at;
    const int64_t length = below(3) == 0 ? std::min<int64_t>(most, 1 + static_cast<int64_t>(below(9)))
                                         : 1 + static_cast<int64_t>(below(static_cast<uint64_t>(most)));
    return std::pair(at, length);
  };
  const auto [y, h] = side(header.height);
  const auto [x, w] = side(header.width);
  return {y, x, h, w};
}

// How many of `boxes` random parts were compared.
int compare_parts(const std::string& file, int boxes, const std::string& name) {
  const auto header = read_image_header(bytes_of(file));
  if (!header.ok()) return 0;
  const Color color = below(4) == 0 ? Color::gray : Color::rgb;
  Status status;
  const auto whole = decode_part(file, *header, header->whole(), color, 0, status);
  if (!status.ok()) return 0;
  const auto channels = static_cast<size_t>(decoded_channels(*header, color));
  for (int i = 0; i < boxes; ++i) {
    const Box part = random_box(*header);
    const auto pixels = decode_part(file, *header, part, color, static_cast<uint8_t>(below(256)), status);
    EXPECT_TRUE(status.ok()) << name << ": " << status.text();
    for (int64_t y = part.y; y < part.bottom(); ++y) {
      const auto at = static_cast<std::ptrdiff_t>(static_cast<size_t>(y * header->width + part.x) * channels);
      if (std::equal(pixels.begin() + at, pixels.begin() + at + part.w * static_cast<int64_t>(channels),
                     whole.begin() + at))
        continue;
      ADD_FAILURE() << name << " " << header->height << " x " << header->width << ": part y " << part.y
                    << " x " << part.x << " h " << part.h << " w " << part.w << " differs in row " << y;
      break;
    }
  }
  return boxes;
}

TEST(DecodePart, EqualsTheWholeForEverySampling) {
  const std::pair<int, int> samplings[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}, {4, 2}, {2, 4}};
  const std::pair<int, int> sizes[] = {{1, 1}, {7, 100}, {131, 17}, {64, 96}, {199, 203}};
  int compared = 0;
  for (const auto& [h, v] : samplings)
    for (const bool progressive : {false, true})
      for (const unsigned restart : {0u, 3u})
        for (const auto& [height, width] : sizes) {
          const Encoding e{height, width, 3, h, v, progressive, restart};
          compared +=
              compare_parts(encode_jpeg(e), 12, "sampling " + std::to_string(h) + " x " + std::to_string(v));
        }
  compared += compare_parts(encode_jpeg({150, 90, 1, 1, 1, false, 0}), 20, "grey");
  EXPECT_EQ(compared, 8 * 2 * 2 * 5 * 12 + 20);
}

// Our own decoder beside the library.
void compare_decoders(const Encoding& e) {
  const std::string file = encode_jpeg(e);
  const auto header = read_image_header(bytes_of(file));
  ASSERT_TRUE(header.ok());
  const bool is_ours = !e.progressive;
  for (const Color color : {Color::rgb, Color::gray}) {
    const auto row = static_cast<size_t>(header->width * decoded_channels(*header, color));
    std::vector<uint8_t> ours(row * static_cast<size_t>(header->height)), theirs(ours.size());
    Scratch scratch;
    EXPECT_EQ(
        jpeg::decode_baseline(bytes_of(file), *header, color, header->whole(), ours.data(), row, scratch),
        is_ours);
    const Status status =
        jpeg::decode_with_turbo(bytes_of(file), *header, color, header->whole(), theirs.data(), row, scratch);
    ASSERT_TRUE(status.ok()) << status.text();
    EXPECT_TRUE(!is_ours || ours == theirs)
        << e.height << " x " << e.width << ", " << e.h << " x " << e.v << ", " << e.cb.first << " x "
        << e.cb.second << ", " << e.cr.first << " x " << e.cr.second;
  }
}

TEST(DecodePart, OurDecoderEqualsTheLibrary) {
  const std::vector<std::pair<int, int>> samplings{{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}};
  for (const auto& [h, v] : samplings)
    for (const unsigned restart : {0u, 1u, 3u})
      for (int size = 1; size <= 40; ++size) {
        compare_decoders({size, 41 - size, 3, h, v, false, restart});
        compare_decoders({3 * size, 2 * size + 1, 3, h, v, size == 9, restart});
      }
  for (int size = 1; size <= 40; ++size) compare_decoders({size, 3 * size, 1, 1, 1, false, 0});
}

TEST(DecodePart, OurDecoderEqualsTheLibraryForAllSamplingFactors) {
  const auto samplings = testing::all_samplings();
  EXPECT_GT(samplings.size(), 150u);
  int size = 0;
  for (const auto& [y, cb, cr] : samplings)
    for (const unsigned restart : {0u, 2u}) {
      const std::string name = std::to_string(y.first) + " x " + std::to_string(y.second);
      for (int i = 0; i < 6; ++i) {
        size = size % 90 + 1;
        const Encoding e{size, 97 - size, 3, y.first, y.second, false, restart, false, cb, cr};
        compare_decoders(e);
        compare_parts(encode_jpeg(e), 6, name);
      }
    }
}

TEST(DecodePart, EqualsTheWholeOfEveryRealFile) {
  const std::string root = testing::data_folder();
  if (root.empty()) GTEST_SKIP() << "set HEADRACE_DATA to the folder of real files";
  int compared = 0;
  uint64_t looked_at = 0;
  for (const char* folder : {"imagenet1k", "jpeg", "images"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(root) / folder)) {
      if (!entry.is_regular_file() || looked_at++ % testing::sweep_divisor() != 0) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string file{std::istreambuf_iterator<char>(in), {}};
      const std::string path = entry.path().string();
      const bool decodes_all = path.find("avif_jxl_jp2") != path.npos;  // whatever is needed
      compared += compare_parts(file, decodes_all ? 1 : 4, path);
    }
  // A part of a sweep may contain fewer of the files that decode.
  const uint64_t most = testing::of_sweep(4 * 600);
  EXPECT_GT(compared, static_cast<int>(testing::sweep_divisor() == 1 ? most : most * 4 / 5));
}

TEST(DecodePart, FindsATruncatedFileWhateverIsNeededOfIt) {
  std::string file = encode_jpeg({199, 203, 3, 2, 2, false, 0});
  file.resize(file.size() * 3 / 4);
  const auto header = read_image_header(bytes_of(file));
  ASSERT_TRUE(header.ok());
  Status status;
  decode_part(file, *header, {0, 0, 8, 8}, Color::rgb, 0, status);
  EXPECT_EQ(status.code(), Code::corrupt) << status.text();
}

}  // namespace
}  // namespace headrace
