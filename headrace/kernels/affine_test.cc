#include "headrace/kernels/affine.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "headrace/kernels/targets.h"

namespace headrace::kernels {
namespace {

const float kMean[] = {0.485f, 0.456f, 0.406f, 0.5f};
const float kStd[] = {0.229f, 0.224f, 0.225f, 0.25f};

std::vector<uint32_t> bits(const std::vector<float>& values) {
  std::vector<uint32_t> out;
  for (float value : values) out.push_back(std::bit_cast<uint32_t>(value));
  return out;
}

// Floats of every magnitude: all exponents, both signs, mantissas near the ties of f16 and bf16, infinities
// and NaN.
std::vector<float> awkward_floats() {
  std::vector<float> out;
  for (uint32_t upper = 0; upper < 0x10000; upper += 7)
    for (uint32_t lower : {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      out.push_back(std::bit_cast<float>(upper << 16 | lower));
  for (float value : {-0.5f, 0.5f, 1.5f, 2.5f, 254.5f, 255.0f, 255.5f, 1e30f, -1e30f, std::nanf("")})
    out.push_back(value);
  return out;
}

TEST(Affine, EveryTargetGivesTheBitsOfTheScalarTwin) {
  std::vector<uint8_t> bytes(1003);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37);
  const std::vector<float> floats(bytes.begin(), bytes.end());
  for (int64_t channels : {1, 2, 3, 4, 5})
    for (int64_t count : {0, 1, 15, 16, 64, 1003}) {
      const float mean[] = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f}, std[] = {0.3f, 0.7f, 1.1f, 1.3f, 1.7f};
      const Affine affine{mean, std, channels, 1.0f / 255};
      std::vector<float> expected(static_cast<size_t>(count)), out(expected);
      apply_scalar(affine, bytes.data(), count, expected.data());
      on_each_simd_target([&](const std::string& target) {
        apply(affine, bytes.data(), count, out.data());
        EXPECT_EQ(bits(out), bits(expected)) << target;
        apply(affine, floats.data(), count, out.data());
        EXPECT_EQ(bits(out), bits(expected)) << target << ", floats";
      });
    }
}

TEST(Affine, InversesGiveTheBitsOfDivision) {
  std::vector<uint8_t> bytes(256);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  std::mt19937 random(3);
  std::uniform_real_distribution<float> number(0.01f, 3.0f);
  int found = 0, tried = 0;
  for (int round = 0; round < 200; ++round) {
    const float mean[] = {number(random)}, std[] = {round == 0 ? 1e-38f : number(random)};
    const Affine divided{mean, std, 1, round % 2 == 0 ? 1.0f / 255 : 1.0f};
    std::vector<float> expected(bytes.size()), out(bytes.size());
    apply_scalar(divided, bytes.data(), 256, expected.data());
    on_each_simd_target([&](const std::string& target) {
      float inverse[1];
      const bool multiplies_exactly = target.starts_with("AVX");  // the others have no fused multiply-add
      tried += multiplies_exactly;
      if (!find_inverses(divided, inverse)) return;
      found += multiplies_exactly;
      Affine multiplied = divided;
      multiplied.inverse = inverse;
      apply(multiplied, bytes.data(), 256, out.data());
      EXPECT_EQ(bits(out), bits(expected)) << target;
    });
  }
  EXPECT_GE(found, tried / 2);
}

TEST(Affine, ByteZeroIsMinusMeanOverStd) {
  const uint8_t black[] = {0, 0, 0};
  float out[3];
  apply({kMean, kStd, 3, 1.0f / 255}, black, 3, out);
  EXPECT_FLOAT_EQ(out[0], -2.1179039f);
  EXPECT_FLOAT_EQ(out[1], -2.0357144f);
  EXPECT_FLOAT_EQ(out[2], -1.8044444f);
}

TEST(Affine, NarrowingGivesTheBitsOfTheScalarTwinOnEveryTarget) {
  const std::vector<float> in = awkward_floats();
  const auto count = static_cast<int64_t>(in.size());
  std::vector<uint16_t> f16(in.size()), bf16(in.size()), out(in.size());
  std::vector<uint8_t> u8(in.size()), u8_out(in.size());
  narrow_to_f16_scalar(in.data(), count, f16.data());
  narrow_to_bf16_scalar(in.data(), count, bf16.data());
  round_to_u8_scalar(in.data(), count, u8.data());
  on_each_simd_target([&](const std::string& target) {
    narrow_to_f16(in.data(), count, out.data());
    EXPECT_TRUE(out == f16) << target;
    narrow_to_bf16(in.data(), count, out.data());
    EXPECT_TRUE(out == bf16) << target;
    round_to_u8(in.data(), count, u8_out.data());
    EXPECT_TRUE(u8_out == u8) << target;
  });
}

TEST(Affine, RoundingGoesToEvenAndStaysInRange) {
  const float in[] = {-3.0f,        0.5f, 1.5f, 2.5f, 254.5f, 255.5f, std::numeric_limits<float>::infinity(),
                      std::nanf("")};
  uint8_t out[8];
  round_to_u8(in, 8, out);
  EXPECT_EQ(std::vector<int>(out, out + 8), (std::vector<int>{0, 0, 2, 2, 254, 255, 255, 0}));
}

}  // namespace
}  // namespace headrace::kernels
