#include "headrace/kernels/resample_planes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "headrace/kernels/targets.h"
#include "headrace/kernels/ycc.h"

namespace headrace::kernels {
namespace {

// Memory aligned to 64 bytes.
template <class T> class Aligned {
 public:
  explicit Aligned(size_t size) : size_(size), data_(new(std::align_val_t{64}) T[size]()) {}
  T* data() { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(T* data) const { ::operator delete[](data, std::align_val_t{64}); }
  };
  size_t size_;
  std::unique_ptr<T[], Free> data_;
};

PlaneAxis random_axis(std::mt19937& random) {
  const auto below = [&](int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random); };
  PlaneAxis axis;
  const int64_t begin = below(60), size = 1 + below(120);
  axis.begin = static_cast<double>(begin) / 2, axis.size = static_cast<double>(size) / 2;
  axis.low = begin / 2, axis.high = (begin + size + 1) / 2;
  axis.grid = 1 + below(90);
  axis.first = below(axis.grid), axis.count = 1 + below(axis.grid - axis.first);
  axis.reversed = below(2) == 0;
  axis.interpolation = below(2) == 0 ? Interpolation::bilinear : Interpolation::bicubic;
  axis.antialias = below(4) != 0;
  return axis;
}

struct MadeTaps {
  explicit MadeTaps(const PlaneAxis& axis, bool scalar = false)
      : memory(plane_taps_bytes(axis)),
        taps((scalar ? plane_taps_scalar : plane_taps)(axis, memory.data())) {}
  Aligned<std::byte> memory;
  PlaneTaps taps;
};

TEST(PlaneTaps, SumToOneAndStayWithinWhatCounts) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    const PlaneAxis axis = random_axis(random);
    const MadeTaps made(axis);
    ASSERT_EQ(made.taps.count, axis.count);
    for (int64_t i = 0; i < axis.count; ++i) {
      int sum = 0;
      for (int32_t k = 0; k < made.taps.window; ++k) {
        const auto weight = static_cast<int16_t>(made.taps.weights_of(i)[k]);
        sum += weight;
        EXPECT_TRUE(weight == 0 || made.taps.first[i] + k < axis.high);
      }
      EXPECT_EQ(sum, 1 << 14);
      EXPECT_GE(made.taps.first[i], axis.low);
    }
  }
}

TEST(PlaneTaps, AreThoseOfAPlainResize) {
  for (const int64_t out : {5, 20, 33}) {
    const MadeTaps made(PlaneAxis{0, 20, 0, 20, out, 0, out});
    Aligned<std::byte> memory(taps_bytes({20, out}));
    const Taps<float> plain = float_taps({20, out}, memory.data());
    for (int64_t i = 0; i < out; ++i) {
      EXPECT_EQ(made.taps.first[i], plain.first[i]);
      for (int32_t k = 0; k < plain.count[i]; ++k)
        EXPECT_NEAR(static_cast<int16_t>(made.taps.weights_of(i)[k]) / 16384.0,
                    plain.weights[i * plain.stride + k], 1.01 / 16384);
    }
  }
}

TEST(PlaneTaps, EveryTargetGivesThoseOfTheTwin) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    PlaneAxis axis = random_axis(random);
    if (round % 3 == 0)
      axis.begin = axis.low + std::ldexp(random() % 1000, -10), axis.size /= 1 + random() % 40;
    const MadeTaps twin(axis, true);
    const auto all = [](const PlaneTaps& taps) {
      const int64_t padded_to = (taps.count + 7) / 8 * 8;
      std::vector<int32_t> out(taps.first, taps.first + padded_to);
      out.insert(out.end(), taps.weights, taps.weights + padded_to * taps.window);
      return out;
    };
    on_each_simd_target([&](const std::string& target) {
      const MadeTaps made(axis);
      ASSERT_EQ(made.taps.window, twin.taps.window) << target;
      EXPECT_EQ(all(made.taps), all(twin.taps)) << target;
    });
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ResamplePlanes, EveryTargetGivesTheRowsOfTheTwin) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const PlaneAxis axis = random_axis(random);
    const MadeTaps made(axis);
    Aligned<int16_t> strip(static_cast<size_t>((axis.high - axis.low + made.taps.window) * kStripRows));
    for (size_t i = 0; i < strip.size(); ++i)
      strip.data()[i] = static_cast<int16_t>(random() % 256 << kSampleBits);
    const auto resampled = [&](bool scalar) {
      std::vector<int16_t> out(static_cast<size_t>(kStripRows * padded(axis.count)));
      int16_t* rows[kStripRows];
      for (int r = 0; r < kStripRows; ++r) rows[r] = out.data() + r * padded(axis.count);
      (scalar ? resample_strip_scalar : resample_strip)(strip.data(), axis.low, made.taps, round % 2 == 0,
                                                        rows);
      for (int r = 0; r < kStripRows; ++r)
        std::fill(rows[r] + axis.count, rows[r] + padded(axis.count), int16_t{0});
      return out;
    };
    const auto expected = resampled(true);
    on_each_simd_target([&](const std::string& target) { EXPECT_EQ(resampled(false), expected) << target; });
  }
}

TEST(ResamplePlanes, EveryTargetGivesTheStripsOfTheTwin) {
  constexpr int64_t kColumns = 256;
  const auto converted = [&](bool scalar) {
    Aligned<int16_t> strips[3] = {Aligned<int16_t>(kColumns * kStripRows),
                                  Aligned<int16_t>(kColumns * kStripRows),
                                  Aligned<int16_t>(kColumns * kStripRows)};
    std::mt19937 random(4);
    for (auto& strip : strips)
      for (size_t i = 0; i < strip.size(); ++i)
        strip.data()[i] = static_cast<int16_t>(random() % 256 << kSampleBits);
    (scalar ? strips_to_rgb_scalar : strips_to_rgb)(strips[0].data(), strips[1].data(), strips[2].data(),
                                                    kColumns);
    std::vector<int16_t> out;
    for (auto& strip : strips) out.insert(out.end(), strip.data(), strip.data() + strip.size());
    return out;
  };
  const auto expected = converted(true);
  on_each_simd_target([&](const std::string& target) { EXPECT_EQ(converted(false), expected) << target; });
}

// Values near a half are sometimes rounded differently: one in a hundred where colours are random.
TEST(ResamplePlanes, StripsBecomeTheRgbOfTheLibrary) {
  Aligned<int16_t> strips[3] = {Aligned<int16_t>(kStripRows), Aligned<int16_t>(kStripRows),
                                Aligned<int16_t>(kStripRows)};
  std::mt19937 random(5);
  int different = 0;
  for (int round = 0; round < 20000; ++round) {
    uint8_t in[3], rgb[3];
    for (int c = 0; c < 3; ++c) {
      in[c] = static_cast<uint8_t>(random());
      strips[c].data()[0] = static_cast<int16_t>(in[c] << kSampleBits);
    }
    ycc_to_rgb_scalar(in, in + 1, in + 2, 1, rgb);
    strips_to_rgb(strips[0].data(), strips[1].data(), strips[2].data(), 1);
    for (int c = 0; c < 3; ++c) {
      EXPECT_NEAR(strips[c].data()[0] >> kSampleBits, rgb[c], 1);
      different += strips[c].data()[0] >> kSampleBits != rgb[c];
    }
  }
  EXPECT_LT(different, 1200);
}

TEST(ResamplePlanes, EveryTargetGivesThePixelsOfTheTwin) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const int64_t width = 1 + static_cast<int64_t>(random() % 100);
    const int32_t windows[2] = {1 + static_cast<int32_t>(random() % 20),
                                1 + static_cast<int32_t>(random() % 20)};
    std::vector<std::vector<int16_t>> memory;
    std::vector<const int16_t*> rows;
    std::vector<int32_t> weights;
    for (int32_t k = 0; k < windows[0] + 2 * windows[1]; ++k) {
      memory.emplace_back(static_cast<size_t>(padded(width)));
      for (auto& v : memory.back()) v = static_cast<int16_t>(static_cast<int>(random() % 18000) - 800);
      const auto weight = static_cast<uint32_t>(random() % 6000 - 1000) & 0xFFFF;
      weights.push_back(static_cast<int32_t>(weight << 16 | weight));
    }
    for (const auto& row : memory) rows.push_back(row.data());
    const auto mixed = [&](int plane) {
      const int32_t at = plane == 0 ? 0 : windows[0] + (plane - 1) * windows[1];
      const int32_t window = windows[plane > 0];
      return MixedRow{rows.data() + at, weights.data() + at, window,
                      window > kMostProducts || window % 3 == 0};
    };
    const auto pixels = [&](bool scalar) {
      std::vector<uint8_t> out(static_cast<size_t>(4 * padded(width)));
      uint8_t* rgb[3];
      for (int c = 0; c < 3; ++c) rgb[c] = out.data() + c * padded(width);
      uint8_t* const grey = out.data() + 3 * padded(width);
      (scalar ? mix_to_rgb_scalar : mix_to_rgb)(mixed(0), mixed(1), mixed(2), width, rgb);
      (scalar ? mix_to_bytes_scalar : mix_to_bytes)(mixed(0), width, grey);
      for (int c = 0; c < 4; ++c)
        std::fill(out.data() + c * padded(width) + width, out.data() + (c + 1) * padded(width), uint8_t{0});
      return out;
    };
    const auto expected = pixels(true);
    on_each_simd_target([&](const std::string& target) { EXPECT_EQ(pixels(false), expected) << target; });
  }
}

}  // namespace
}  // namespace headrace::kernels
