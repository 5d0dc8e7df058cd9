// Pictures resampled plane by plane equal the same arithmetic, written plainly, over libjpeg-turbo's own
// planes; and they are close to what decoding and resizing gives.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>

#include "headrace/codecs/jpeg/baseline_header.h"
#include "headrace/codecs/jpeg/planes.h"
#include "headrace/core/random/key.h"
#include "headrace/kernels/resample_planes.h"
#include "headrace/kernels/resize.h"
#include "tests/oracle/plain_planes.h"
#include "tests/real_files.h"
#include "tests/run/sweeps.h"

namespace headrace {
namespace {

using testing::encode_jpeg;
using testing::Encoding;
using testing::expected_pixels;
using Bytes = std::span<const std::byte>;

Bytes bytes_from(const std::string& file) { return std::as_bytes(std::span(file)); }

int64_t random_below(int64_t n) {  // a fixed sequence of numbers
  static uint32_t draw = 0;
  return Key(5, 1, {}).below(draw++, n);
}

class ResampledPixels : public RowSink {
 public:
  ResampledPixels(int64_t width, int channels) : width_(width), channels_(channels) {}
  void take(int64_t y, const uint8_t* const* planes) override {
    EXPECT_EQ(y, next_++);
    for (int64_t x = 0; x < width_; ++x)
      for (int c = 0; c < channels_; ++c) pixels.push_back(planes[c][x]);
  }
  std::vector<uint8_t> pixels;

 private:
  int64_t width_, next_ = 0;
  int channels_;
};

Resampled random_picture(const ImageHeader& header) {
  const auto part = [](int64_t size) {
    const int64_t at = random_below(size);
    return std::pair(at, 1 + random_below(size - at));
  };
  Resampled picture;
  std::tie(picture.from.y, picture.from.h) = part(header.height);
  std::tie(picture.from.x, picture.from.w) = part(header.width);
  picture.height = 1 + random_below(90), picture.width = 1 + random_below(90);
  std::tie(picture.window.y, picture.window.h) = part(picture.height);
  std::tie(picture.window.x, picture.window.w) = part(picture.width);
  picture.mirrored = random_below(2) == 0;
  picture.interpolation =
      random_below(2) == 0 ? kernels::Interpolation::bilinear : kernels::Interpolation::bicubic;
  picture.antialias = random_below(4) != 0;
  return picture;
}

void compare(const Encoding& e) {
  const std::string file = encode_jpeg(e);
  const auto header = read_image_header(bytes_from(file));
  ASSERT_TRUE(header.ok());
  // Several pictures of one image in one pass.
  const Resampled pictures[] = {random_picture(*header), random_picture(*header), random_picture(*header)};
  for (const Color color : {Color::rgb, Color::gray}) {
    std::vector<ResampledPixels> sinks;
    for (const Resampled& picture : pictures)
      sinks.emplace_back(picture.window.w, decoded_channels(*header, color));
    RowSink* const pointers[] = {&sinks[0], &sinks[1], &sinks[2]};
    Scratch scratch;
    ASSERT_TRUE(
        *jpeg::resample_planes(bytes_from(file), *header, color, pictures, pointers, {}, nullptr, scratch));
    for (size_t i = 0; i < 3; ++i)
      ASSERT_EQ(sinks[i].pixels, expected_pixels(file, pictures[i], color == Color::gray, e))
          << e.height << " x " << e.width << ", " << e.h << " x " << e.v << ", " << e.cb.first << " x "
          << e.cb.second << ", restart " << e.restart;
  }
}

std::vector<uint8_t> resampled_file(const std::string& file, const Resampled& picture,
                                    const EntropyPoints& known, EntropyPoints* found, bool& done) {
  const auto header = read_image_header(bytes_from(file));
  ResampledPixels pixels(picture.window.w, decoded_channels(*header, Color::rgb));
  RowSink* const sink = &pixels;
  Scratch scratch;
  done = *jpeg::resample_planes(bytes_from(file), *header, Color::rgb, {&picture, 1}, {&sink, 1}, known,
                                found, scratch);
  return pixels.pixels;
}

TEST(Resampled, EqualsPlainArithmeticOverTheLibrarysPlanes) {
  const std::pair<int, int> samplings[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}};
  for (const auto& [h, v] : samplings)
    for (const unsigned restart : {0u, 1u, 3u})
      for (int size = 1; size <= 40; ++size) {
        compare({size, 41 - size, 3, h, v, false, restart});
        compare({7 * size, 5 * size + 1, 3, h, v, false, restart});
      }
  for (int size = 1; size <= 40; ++size) compare({3 * size, 5 * size, 1, 1, 1, false, 0});
}

TEST(Resampled, EqualsPlainArithmeticForAllSamplingFactors) {
  int size = 0, odd = 0;
  for (const auto& [y, cb, cr] : testing::all_samplings())
    for (const unsigned restart : {0u, 2u})
      for (int i = 0; i < 8; ++i) {
        size = size % 180 + 1;
        const Encoding e{size, 193 - size, 3, y.first, y.second, false, restart, false, cb, cr};
        if (cb == cr) {
          compare(e);
          continue;
        }
        // Where each plane of chroma has a resolution of its own, the image is decoded as with exact.
        const std::string file = encode_jpeg(e);
        bool done = true;
        const auto header = read_image_header(bytes_from(file));
        resampled_file(file, random_picture(*header), {}, nullptr, done);
        EXPECT_FALSE(done);
        ++odd;
      }
  EXPECT_GT(odd, 100);
}

int reduction_for(const Resampled& picture) {
  for (const int by : {8, 4, 2})
    if (picture.from.h >= 2 * by * picture.height && picture.from.w >= 2 * by * picture.width) return by;
  return 1;
}

// Pictures that shrink by 2 to 20.
TEST(Resampled, ScaledInTheDctEqualsPlainArithmeticOverMeans) {
  std::map<int, int> tried;
  for (const auto& [h, v] : {std::pair(1, 1), std::pair(2, 1), std::pair(1, 2), std::pair(2, 2),
                             std::pair(4, 1), std::pair(1, 3), std::pair(2, 4)})
    for (int round = 0; round < 60; ++round) {
      const int channels = round % 5 == 0 && h * v == 1 ? 1 : 3;
      const Encoding e{40 + 7 * round, 450 - 6 * round, channels, h, v, false, 0};
      const std::string file = encode_jpeg(e);
      const auto header = read_image_header(bytes_from(file));
      Resampled picture = random_picture(*header);
      const int64_t shrinking = 2 + random_below(19);
      picture.height = std::max<int64_t>(1, picture.from.h / shrinking);
      picture.width = std::max<int64_t>(1, picture.from.w / shrinking);
      picture.window = {0, 0, picture.height, picture.width};
      picture.antialias = true, picture.scale_in_dct = true;
      const int by = reduction_for(picture);
      ++tried[by];
      for (const Color color : {Color::rgb, Color::gray}) {
        ResampledPixels pixels(picture.window.w, decoded_channels(*header, color));
        RowSink* const sink = &pixels;
        Scratch scratch;
        ASSERT_TRUE(*jpeg::resample_planes(bytes_from(file), *header, color, {&picture, 1}, {&sink, 1}, {},
                                           nullptr, scratch));
        const auto expected = expected_pixels(file, picture, color == Color::gray, e, by);
        ASSERT_EQ(pixels.pixels.size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i)
          ASSERT_NEAR(pixels.pixels[i], expected[i], by == 1 ? 0 : 3)
              << by << ", " << h << " x " << v << ", " << i;
      }
    }
  for (const int by : {1, 2, 4, 8}) EXPECT_GT(tried[by], 10) << by;
}

// What else is wanted of a picture changes none of its pixels.
TEST(Resampled, AWindowHasTheBytesOfTheWholePicture) {
  for (int round = 0; round < 600; ++round) {
    const int h = 1 + round % 2, v = 1 + round / 2 % 2;
    const std::string file = encode_jpeg({9 + round % 150, 250 - round % 140, 3, h, v, false, 0});
    const auto header = read_image_header(bytes_from(file));
    Resampled part = random_picture(*header);
    part.mirrored = false;
    Resampled whole = part;
    whole.window = {0, 0, part.height, part.width};
    bool done = false;
    const auto all = resampled_file(file, whole, {}, nullptr, done);
    ASSERT_TRUE(done);
    const auto some = resampled_file(file, part, {}, nullptr, done);
    ASSERT_TRUE(done);
    const auto row = static_cast<std::ptrdiff_t>(3 * part.window.w);
    for (int64_t y = 0; y < part.window.h; ++y) {
      const auto from = all.begin() + 3 * ((part.window.y + y) * part.width + part.window.x);
      ASSERT_TRUE(std::equal(from, from + row, some.begin() + y * row)) << round << ", row " << y;
    }
  }
}

// With all points, with those of the first rows, and while they are found.
TEST(Resampled, PointsChangeNoByte) {
  const std::pair<int, int> samplings[] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 3}, {2, 4}};
  for (const auto& [h, v] : samplings)
    for (const unsigned restart : {0u, 3u})
      for (const int64_t step : {0, 1, 3, 8, 1000})
        for (int round = 0; round < 8; ++round) {
          const std::string file = encode_jpeg({20 + 31 * round, 333 - 40 * round, 3, h, v, false, restart});
          const auto header = read_image_header(bytes_from(file));
          const Resampled picture = random_picture(*header);
          bool done = false;
          const auto expected = resampled_file(file, picture, {}, nullptr, done);
          ASSERT_TRUE(done);
          const EntropyPoints all = jpeg::find_points(bytes_from(file), step, Scratch());
          ASSERT_FALSE(all.points.empty());
          EntropyPoints found{step, {}};
          EXPECT_EQ(resampled_file(file, picture, {}, &found, done), expected);
          ASSERT_LE(found.points.size(), all.points.size());
          EXPECT_TRUE(std::equal(found.points.begin(), found.points.end(), all.points.begin()));
          for (const size_t count : {all.points.size(), all.points.size() / 2, size_t{1}}) {
            EntropyPoints more{step, {}};
            const EntropyPoints known{
                step, {all.points.begin(), all.points.begin() + static_cast<std::ptrdiff_t>(count)}};
            EXPECT_EQ(resampled_file(file, picture, known, &more, done), expected) << step << ", " << count;
            ASSERT_TRUE(done);
            EXPECT_TRUE(more.points.empty() || more.points.size() > count);
            ASSERT_LE(more.points.size(), all.points.size());
            EXPECT_TRUE(std::equal(more.points.begin(), more.points.end(), all.points.begin()));
            EXPECT_EQ(resampled_file(file, picture, known, nullptr, done), expected) << step << ", " << count;
          }
        }
}

// Points of another file, or of none.
TEST(Resampled, WrongPointsAreRefusedOrHarmless) {
  const std::string file = encode_jpeg({199, 203, 3, 2, 2, false, 0});
  const auto header = read_image_header(bytes_from(file));
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    EntropyPoints points = jpeg::find_points(bytes_from(file), 1, Scratch());
    for (int changes = 1 + static_cast<int>(random_below(4)); changes > 0; --changes) {
      EntropyPoint& point =
          points.points[static_cast<size_t>(random_below(static_cast<int64_t>(points.points.size())))];
      point = {static_cast<uint32_t>(random_below(2) == 0 ? random_below(1 << 20)
                                                          : random_below(int64_t{1} << 32)),
               static_cast<uint16_t>(random_below(20)),
               {static_cast<int16_t>(random_below(65536) - 32768), 0, 0}};
    }
    bool done = false;
    resampled_file(file, random_picture(*header), {1, points.points}, nullptr, done);
    refused += !done;
  }
  EXPECT_GT(refused, 0);
}

// However much an image shrinks, what is flat stays what it is.
TEST(Resampled, AFlatImageKeepsItsColour) {
  for (const auto& [h, v] : {std::pair(1, 1), std::pair(2, 2)})
    for (const auto& [from, to] : {std::pair(64, 40), std::pair(512, 64), std::pair(1024, 64),
                                   std::pair(2048, 3), std::pair(2000, 2)}) {
      const std::string file = encode_jpeg({from, from, 3, h, v, false, 0, true});
      const auto header = read_image_header(bytes_from(file));
      ASSERT_TRUE(header.ok());
      for (const auto interpolation : {kernels::Interpolation::bilinear, kernels::Interpolation::bicubic}) {
        const Resampled picture{header->whole(), to, to, {0, 0, to, to}, false, interpolation};
        const Resampled one{{0, 0, 8, 8}, 8, 8, {0, 0, 8, 8}};
        bool done = false;
        const auto pixels = resampled_file(file, picture, {}, nullptr, done);
        const auto colour = resampled_file(file, one, {}, nullptr, done);
        for (size_t i = 0; i < pixels.size(); ++i)
          ASSERT_NEAR(pixels[i], colour[i % 3], 1) << from << " to " << to << ", " << h << " x " << v;
      }
    }
}

struct Difference {
  double mean = 0, psnr = 0;
};

// Fast beside exact, both through decode_resampled: "nearest" never is fast, so the exact one is made by
// hand.
Difference difference(const std::string& file, const ImageHeader& header, const Resampled& picture) {
  ResampledPixels fast(picture.window.w, 3);
  RowSink* const sink = &fast;
  Scratch scratch;
  EXPECT_TRUE(
      decode_resampled(bytes_from(file), header, Color::rgb, false, {&picture, 1}, {&sink, 1}, scratch).ok());
  std::vector<uint8_t> whole(static_cast<size_t>(header.height * header.width * 3)),
      exact(static_cast<size_t>(picture.height * picture.width * 3));
  EXPECT_TRUE(decode_image(bytes_from(file), header, Color::rgb, header.whole(), whole.data(),
                           static_cast<size_t>(header.width * 3), scratch)
                  .ok());
  const kernels::Resize resize{picture.from.h, picture.from.w, picture.height, picture.width, 3};
  std::vector<std::byte> memory(kernels::resize_scratch_bytes(resize) + 64);
  auto* aligned = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
  kernels::resize_u8(resize, whole.data() + (picture.from.y * header.width + picture.from.x) * 3,
                     header.width * 3, exact.data(), picture.width * 3, aligned);
  double absolute = 0, squares = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double d = std::abs(static_cast<double>(exact[i]) - fast.pixels[i]);
    absolute += d, squares += d * d;
  }
  const auto n = static_cast<double>(exact.size());
  return {absolute / n, squares == 0 ? 99.0 : 10 * std::log10(255.0 * 255.0 * n / squares)};
}

// What its differences are to depend on.
std::string kind_of(const std::string& file) {
  const auto scan = jpeg::read_scan(bytes_from(file));
  if (!scan) return "decoded as exact";
  if (scan->components == 1) return "grey";
  if (scan->h_most == 1 && scan->v_most == 1) return "4:4:4";
  return scan->h_most == 2 && scan->v_most == 2 ? "4:2:0" : "4:2:2, 4:4:0";
}

// Crops of each file by a key of its own, so that other files change none of them.
std::vector<Difference> differences(const std::string& name, const std::string& file,
                                    const ImageHeader& header) {
  uint64_t seed = 14695981039346656037U;  // FNV-1a of its name
  for (const char c : name) seed = (seed ^ static_cast<uint8_t>(c)) * 1099511628211U;
  const Key key(seed, 0, {});
  uint32_t draw = 0;
  const auto below = [&](int64_t n) { return key.below(draw++, n); };
  const int64_t h = header.height, w = header.width;
  std::vector<Difference> out;
  for (int i = 0; i < 10; ++i) {
    Resampled picture{{}, 224, 224, {0, 0, 224, 224}};
    picture.from.h = std::max<int64_t>(1, h / 4 + below(h - h / 4)),
    picture.from.w = std::max<int64_t>(1, w / 4 + below(w - w / 4));
    picture.from.y = below(h - picture.from.h + 1), picture.from.x = below(w - picture.from.w + 1);
    out.push_back(difference(file, header, picture));
  }
  return out;
}

struct Summary {
  size_t crops = 0, identical = 0;
  double median = 0, p95 = 0, worst = 0;  // of the mean absolute difference
  double psnr = std::numeric_limits<double>::infinity(),
         least_psnr = psnr;  // on average, at worst; of those that differ

  explicit Summary(const std::vector<Difference>& all) : crops(all.size()) {
    std::vector<double> means;
    double sum = 0;
    for (const Difference& d : all) {
      means.push_back(d.mean);
      if (d.mean == 0) {
        ++identical;
        continue;
      }
      sum += d.psnr, least_psnr = std::min(least_psnr, d.psnr);
    }
    std::sort(means.begin(), means.end());
    median = means[means.size() / 2], p95 = means[means.size() * 95 / 100], worst = means.back();
    if (identical < crops) psnr = sum / static_cast<double>(crops - identical);
  }
};

TEST(Resampled, FastIsCloseToExact) {
  const std::string root = testing::data_folder();
  if (root.empty()) GTEST_SKIP() << "set HEADRACE_DATA to the folder of real files";
  if (testing::sweep_divisor() > 1) GTEST_SKIP() << "statistics are of all photographs";
  std::map<std::string, std::vector<Difference>> kinds;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(root) / "imagenet1k")) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string file{std::istreambuf_iterator<char>(in), {}};
    const auto header = read_image_header(bytes_from(file));
    if (!header.ok() || image_format_name(*header) != "JPEG") continue;
    for (const Difference& d : differences(entry.path().filename().string(), file, *header))
      kinds[kind_of(file)].push_back(d), kinds["all"].push_back(d);
  }
  ASSERT_GT(kinds["all"].size(), 2000u);
  // 4:2:0 differs most: exact doubles chroma smoothly and then shrinks it.
  struct Bound {
    double p95, worst, psnr, least_psnr;
  };
  const std::map<std::string, Bound> bounds{
      {"all", {0.5, 1.0, 55, 40}},           {"4:4:4", {0.25, 0.3, 60, 50}},
      {"grey", {0.25, 0.3, 60, 50}},         {"4:2:0", {0.6, 0.8, 50, 44}},
      {"4:2:2, 4:4:0", {0.55, 0.6, 53, 46}}, {"decoded as exact", {0, 0, 99, 99}}};
  for (const auto& [kind, all] : kinds) {
    const Summary d(all);
    const std::string said =
        kind + ": " + std::to_string(d.crops) + " crops, " + std::to_string(d.identical) + " identical";
    std::printf(
        "%s; mean absolute difference %.3f median, %.3f p95, %.3f worst; PSNR of the others %.1f dB average, "
        "%.1f worst\n",
        said.c_str(), d.median, d.p95, d.worst, d.psnr, d.least_psnr);
    const Bound& bound = bounds.at(kind);
    EXPECT_LE(d.p95, bound.p95) << kind;
    EXPECT_LE(d.worst, bound.worst) << kind;
    EXPECT_GE(d.psnr, bound.psnr) << kind;
    EXPECT_GE(d.least_psnr, bound.least_psnr) << kind;
  }
}

}  // namespace
}  // namespace headrace
