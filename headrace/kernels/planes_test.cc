#include "headrace/kernels/planes.h"

#include <gtest/gtest.h>

#include <vector>

#include "headrace/kernels/targets.h"

namespace headrace::kernels {
namespace {

std::vector<uint8_t> counted(int64_t size) {
  std::vector<uint8_t> values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 7 + i / 256);
  return values;
}

const std::byte* bytes(const std::vector<uint8_t>& v) { return reinterpret_cast<const std::byte*>(v.data()); }
std::byte* bytes(std::vector<uint8_t>& v) { return reinterpret_cast<std::byte*>(v.data()); }

TEST(Planes, MirrorsThreePixels) {
  const std::vector<uint8_t> in{1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<uint8_t> out(9);
  mirror_row(bytes(in), 3, 3, bytes(out));
  EXPECT_EQ(out, (std::vector<uint8_t>{7, 8, 9, 4, 5, 6, 1, 2, 3}));
}

TEST(Planes, SplitsThreePixels) {
  const std::vector<uint8_t> in{1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<uint8_t> out(9);
  to_planes(in.data(), 3, 3, out.data(), 3);
  EXPECT_EQ(out, (std::vector<uint8_t>{1, 4, 7, 2, 5, 8, 3, 6, 9}));
}

TEST(Planes, EveryTargetEqualsTheScalarTwin) {
  for (int64_t channels : {1, 2, 3, 4, 5, 12})
    for (int64_t pixels : {0, 1, 15, 16, 17, 63, 64, 200}) {
      const std::vector<uint8_t> in = counted(pixels * channels);
      std::vector<uint8_t> mirrored(in.size()), planes(in.size()), out(in.size());
      mirror_row_scalar(bytes(in), pixels, static_cast<size_t>(channels), bytes(mirrored));
      to_planes_scalar(in.data(), pixels, channels, planes.data(), pixels);
      on_each_simd_target([&](const std::string& target) {
        mirror_row(bytes(in), pixels, static_cast<size_t>(channels), bytes(out));
        EXPECT_EQ(out, mirrored) << target << ", channels " << channels << ", pixels " << pixels;
        to_planes(in.data(), pixels, channels, out.data(), pixels);
        EXPECT_EQ(out, planes) << target << ", channels " << channels << ", pixels " << pixels;
        std::vector<const uint8_t*> plane;
        for (int64_t c = 0; c < channels; ++c) plane.push_back(planes.data() + c * pixels);
        from_planes(plane.data(), pixels, channels, out.data());
        EXPECT_EQ(out, in) << target << ", channels " << channels << ", pixels " << pixels;
      });
    }
}

TEST(Planes, WeavesPlanesThatLieApart) {
  const std::vector<uint8_t> a{1, 2}, b{3, 4}, c{5, 6};
  const uint8_t* const planes[] = {a.data(), b.data(), c.data()};
  std::vector<uint8_t> out(6), twin(6);
  from_planes(planes, 2, 3, out.data());
  from_planes_scalar(planes, 2, 3, twin.data());
  EXPECT_EQ(out, (std::vector<uint8_t>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(twin, out);
}

TEST(Planes, SplitsFloatsOnEveryTarget) {
  for (int64_t channels : {1, 2, 3, 4, 5})
    for (int64_t pixels : {0, 1, 3, 4, 15, 16, 17, 40}) {
      std::vector<float> in, planes(static_cast<size_t>(channels * pixels)), expected;
      for (int64_t i = 0; i < channels * pixels; ++i) in.push_back(static_cast<float>(i));
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t i = 0; i < pixels; ++i) expected.push_back(static_cast<float>(i * channels + c));
      on_each_simd_target([&](const std::string& target) {
        to_planes(in.data(), pixels, channels, planes.data(), pixels);
        EXPECT_EQ(planes, expected) << target << ", channels " << channels << ", pixels " << pixels;
      });
    }
}

}  // namespace
}  // namespace headrace::kernels
