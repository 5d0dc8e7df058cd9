#include "headrace/kernels/cast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace headrace::kernels {
namespace {

template <class To, class From> std::vector<To> casted(DType from, const std::vector<From>& in, DType to) {
  std::vector<To> out(in.size());
  cast(from, reinterpret_cast<const std::byte*>(in.data()), static_cast<int64_t>(in.size()), to,
       reinterpret_cast<std::byte*>(out.data()));
  return out;
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Cast, FloatsAreCutOffTowardsZeroAndClamped) {
  const std::vector<float> in{0.9f, -0.9f, 254.99f, 256.0f, -1.0f, 1e30f, -kInfinity, std::nanf("")};
  EXPECT_EQ((casted<uint8_t>(DType::f32, in, DType::u8)),
            (std::vector<uint8_t>{0, 0, 254, 255, 0, 255, 0, 0}));
  EXPECT_EQ((casted<int8_t>(DType::f32, in, DType::i8)),
            (std::vector<int8_t>{0, 0, 127, 127, -1, 127, -128, 0}));
  EXPECT_EQ((casted<int64_t>(DType::f32, in, DType::i64)).at(5), std::numeric_limits<int64_t>::max());
  EXPECT_EQ((casted<uint64_t>(DType::f32, in, DType::u64)).at(5), std::numeric_limits<uint64_t>::max());
}

TEST(Cast, IntegersAreClamped) {
  EXPECT_EQ((casted<uint8_t>(DType::i64, std::vector<int64_t>{-5, 5, 300}, DType::u8)),
            (std::vector<uint8_t>{0, 5, 255}));
  EXPECT_EQ((casted<int32_t>(DType::u64, std::vector<uint64_t>{1, ~uint64_t{0}}, DType::i32)),
            (std::vector<int32_t>{1, std::numeric_limits<int32_t>::max()}));
  EXPECT_EQ((casted<float>(DType::i16, std::vector<int16_t>{-7, 9}, DType::f32)),
            (std::vector<float>{-7, 9}));
}

TEST(Cast, BoolIsNotZero) {
  const std::vector<float> in{0.0f, -0.0f, 0.5f, std::nanf("")};
  EXPECT_EQ((casted<uint8_t>(DType::f32, in, DType::boolean)), (std::vector<uint8_t>{0, 0, 1, 1}));
  EXPECT_EQ((casted<double>(DType::boolean, std::vector<uint8_t>{0, 1}, DType::f64)),
            (std::vector<double>{0, 1}));
}

TEST(Cast, HalvesRoundToNearestEven) {
  EXPECT_EQ((casted<uint16_t>(DType::f32, std::vector<float>{1.0f, 65519.0f, 65520.0f, -2.0f}, DType::f16)),
            (std::vector<uint16_t>{0x3c00, 0x7bff, 0x7c00, 0xc000}));
  EXPECT_EQ((casted<uint16_t>(DType::u8, std::vector<uint8_t>{0, 1, 255}, DType::bf16)),
            (std::vector<uint16_t>{0, 0x3f80, 0x437f}));
  EXPECT_EQ((casted<float>(DType::f16, std::vector<uint16_t>{0x3c00, 0x7bff}, DType::f32)),
            (std::vector<float>{1.0f, 65504.0f}));
  EXPECT_EQ((casted<uint16_t>(DType::f16, std::vector<uint16_t>{0x3c00}, DType::bf16)),
            std::vector<uint16_t>{0x3f80});
}

// A double just above the middle of two halves is that middle when it is an f32: rounding twice would round
// down.
TEST(Cast, DoublesAreRoundedOnce) {
  const double above_tie = 1.0 + 0x1p-11 + 0x1p-40, below_tie = 1.0 + 3 * 0x1p-11 - 0x1p-40;
  EXPECT_EQ((casted<uint16_t>(DType::f64, std::vector<double>{above_tie, below_tie, -above_tie}, DType::f16)),
            (std::vector<uint16_t>{0x3c01, 0x3c01, 0xbc01}));
}

TEST(Cast, SameDtypeCopies) {
  EXPECT_EQ((casted<double>(DType::f64, std::vector<double>{1.5, -2.5}, DType::f64)),
            (std::vector<double>{1.5, -2.5}));
}

}  // namespace
}  // namespace headrace::kernels
