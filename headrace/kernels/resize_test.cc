#include "headrace/kernels/resize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "headrace/kernels/targets.h"

namespace headrace::kernels {
namespace {

// The generator and the hash of tools/make_resize_goldens.py.
std::vector<uint8_t> generated(int64_t size) {
  std::vector<uint8_t> values(static_cast<size_t>(size));
  uint32_t state = 12345;
  for (uint8_t& value : values) value = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return values;
}

uint64_t fnv1a(const std::vector<uint8_t>& bytes) {
  uint64_t digest = 0xcbf29ce484222325;
  for (uint8_t byte : bytes) digest = (digest ^ byte) * 0x100000001b3;
  return digest;
}

struct AlignedScratch {
  explicit AlignedScratch(const Resize& r) : memory(resize_scratch_bytes(r) / 64 + 2) {}
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory;
  std::byte* data() { return memory.data()->bytes; }
};

std::string name(const Resize& r) {
  return std::to_string(r.in_height) + " x " + std::to_string(r.in_width) + " to " +
         std::to_string(r.out_height) + " x " + std::to_string(r.out_width) + ", channels " +
         std::to_string(r.channels);
}

std::vector<uint8_t> resized(const Resize& r, const std::vector<uint8_t>& in,
                             decltype(&resize_u8) form = resize_u8) {
  std::vector<uint8_t> out(static_cast<size_t>(r.out_height * r.out_width * r.channels));
  AlignedScratch scratch(r);
  form(r, in.data(), r.in_width * r.channels, out.data(), r.out_width * r.channels, scratch.data());
  return out;
}

struct Golden {
  Resize resize;
  uint64_t digest;
};

// Made by: python tools/make_resize_goldens.py (Pillow 13.0.0)
const Golden kGoldens[] = {
    {{280, 300, 224, 224, 3, Interpolation::bilinear, true}, 0x921e599db67bf3ce},
    {{280, 300, 224, 224, 4, Interpolation::bicubic, true}, 0x91c1d179f51b3571},
    {{280, 300, 224, 224, 1, Interpolation::nearest, true}, 0x447437bbce0db9d6},
    {{280, 300, 224, 224, 2, Interpolation::lanczos, true}, 0xb5e1d29bd6020a13},
    {{280, 300, 224, 224, 3, Interpolation::box, true}, 0x9e9330b89dda55e4},
    {{300, 280, 224, 224, 4, Interpolation::bilinear, true}, 0x4803e415b3606968},
    {{300, 280, 224, 224, 1, Interpolation::bicubic, true}, 0xbf4983a9d6b7324d},
    {{300, 280, 224, 224, 2, Interpolation::nearest, true}, 0x4098812cbc28aae1},
    {{300, 280, 224, 224, 3, Interpolation::lanczos, true}, 0x9a970e43e2b73de6},
    {{300, 280, 224, 224, 4, Interpolation::box, true}, 0x3e42a19986f81cce},
    {{375, 500, 256, 341, 1, Interpolation::bilinear, true}, 0xbc77d9cb1c5bbf08},
    {{375, 500, 256, 341, 2, Interpolation::bicubic, true}, 0xa115998322416bed},
    {{375, 500, 256, 341, 3, Interpolation::nearest, true}, 0xeddfb707a40ff280},
    {{375, 500, 256, 341, 4, Interpolation::lanczos, true}, 0x1d2628f63d1cd162},
    {{375, 500, 256, 341, 1, Interpolation::box, true}, 0x0d2ac774087b8a68},
    {{500, 100, 60, 90, 2, Interpolation::bilinear, true}, 0xf69ae96b36a14ea9},
    {{500, 100, 60, 90, 3, Interpolation::bicubic, true}, 0x72f10324c074d535},
    {{500, 100, 60, 90, 4, Interpolation::nearest, true}, 0xdb2362643207687a},
    {{500, 100, 60, 90, 1, Interpolation::lanczos, true}, 0x28a095fc8aacf028},
    {{500, 100, 60, 90, 2, Interpolation::box, true}, 0x926df9b712f7b6f9},
    {{64, 64, 224, 224, 3, Interpolation::bilinear, true}, 0xd1d4114e2deddcb2},
    {{64, 64, 224, 224, 4, Interpolation::bicubic, true}, 0x4de6d4d3b7f7fdd8},
    {{64, 64, 224, 224, 1, Interpolation::nearest, true}, 0x4360f694c8d1e27d},
    {{64, 64, 224, 224, 2, Interpolation::lanczos, true}, 0x0f653c94b6943739},
    {{64, 64, 224, 224, 3, Interpolation::box, true}, 0xbf3a1f77879c9cce},
    {{28, 28, 32, 32, 4, Interpolation::bilinear, true}, 0x8be98e8b228cdd4d},
    {{28, 28, 32, 32, 1, Interpolation::bicubic, true}, 0x9daf42510c6ca15d},
    {{28, 28, 32, 32, 2, Interpolation::nearest, true}, 0xa1b45003ae9666cf},
    {{28, 28, 32, 32, 3, Interpolation::lanczos, true}, 0x67afd40cc8a0c0ef},
    {{28, 28, 32, 32, 4, Interpolation::box, true}, 0x8184c279455d84ae},
    {{7, 5, 3, 11, 1, Interpolation::bilinear, true}, 0x942b91560332483b},
    {{7, 5, 3, 11, 2, Interpolation::bicubic, true}, 0xfa83cb701f29ecc0},
    {{7, 5, 3, 11, 3, Interpolation::nearest, true}, 0x3919fbd524752261},
    {{7, 5, 3, 11, 4, Interpolation::lanczos, true}, 0x0aec464a75330419},
    {{7, 5, 3, 11, 1, Interpolation::box, true}, 0xd12e3201e573ac6c},
    {{1, 1, 4, 3, 2, Interpolation::bilinear, true}, 0x240f72e73a6e9b75},
    {{1, 1, 4, 3, 3, Interpolation::bicubic, true}, 0xf3ea291795295225},
    {{1, 1, 4, 3, 4, Interpolation::nearest, true}, 0xa105e46673f49225},
    {{1, 1, 4, 3, 1, Interpolation::lanczos, true}, 0x35bbec267f9ca7b9},
    {{1, 1, 4, 3, 2, Interpolation::box, true}, 0x240f72e73a6e9b75},
    {{97, 3, 5, 3, 3, Interpolation::bilinear, true}, 0x374dd1d61cade9bd},
    {{97, 3, 5, 3, 4, Interpolation::bicubic, true}, 0x0c84cbbf854d1351},
    {{97, 3, 5, 3, 1, Interpolation::nearest, true}, 0x5df51a231166916d},
    {{97, 3, 5, 3, 2, Interpolation::lanczos, true}, 0xb90eefaad11237f4},
    {{97, 3, 5, 3, 3, Interpolation::box, true}, 0x905cf15c677998f1},
    {{33, 200, 33, 17, 4, Interpolation::bilinear, true}, 0x035efb230e9d067b},
    {{33, 200, 33, 17, 1, Interpolation::bicubic, true}, 0x15557045838f6cb1},
    {{33, 200, 33, 17, 2, Interpolation::nearest, true}, 0x1b8cad81742ed766},
    {{33, 200, 33, 17, 3, Interpolation::lanczos, true}, 0x25113b2702b3d752},
    {{33, 200, 33, 17, 4, Interpolation::box, true}, 0x311b02d478933cd3},
};

TEST(Resize, EqualsPillowOnEveryTarget) {
  for (const Golden& golden : kGoldens) {
    const std::vector<uint8_t> in =
        generated(golden.resize.in_height * golden.resize.in_width * golden.resize.channels);
    on_each_simd_target([&](const std::string& target) {
      EXPECT_EQ(fnv1a(resized(golden.resize, in)), golden.digest) << name(golden.resize) << " on " << target;
    });
    EXPECT_EQ(fnv1a(resized(golden.resize, in, resize_u8_scalar)), golden.digest) << name(golden.resize);
  }
}

TEST(Resize, EveryTargetEqualsTheScalarTwinForManySmallShapes) {
  const int64_t sides[] = {1, 2, 3, 7, 16, 17, 40, 65};
  const std::vector<uint8_t> in = generated(65 * 65 * 4);
  for (int channels = 1; channels <= 4; ++channels)
    for (int64_t from : sides)
      for (int64_t to : sides)
        for (Interpolation interpolation :
             {Interpolation::bilinear, Interpolation::bicubic, Interpolation::box})
          for (bool antialias : {false, true}) {
            const Resize r{from, to, to, from / 2 + 1, channels, interpolation, antialias};
            const std::vector<uint8_t> expected = resized(r, in, resize_u8_scalar);
            on_each_simd_target([&](const std::string& target) {
              EXPECT_EQ(resized(r, in), expected) << name(r) << " on " << target;
            });
          }
}

TEST(Resize, HalfASizeEqualsTheScalarTwinOnEveryTarget) {
  const std::vector<uint8_t> in = generated(62 * 262 * 4);
  for (int channels = 1; channels <= 4; ++channels)
    for (const auto& [interpolation, antialias] :
         {std::pair(Interpolation::box, true), std::pair(Interpolation::bilinear, false)}) {
      const Resize r{62, 262, 31, 131, channels, interpolation, antialias};
      const std::vector<uint8_t> expected = resized(r, in, resize_u8_scalar);
      on_each_simd_target([&](const std::string& target) {
        EXPECT_EQ(resized(r, in), expected) << name(r) << " on " << target;
      });
    }
}

TEST(Resize, NearestCopiesThePixelsOfItsPositions) {
  const std::vector<uint8_t> in = generated(5 * 67 * 16);
  for (const int64_t width : {1, 3, 5, 16, 31, 67, 150})
    for (int size = 1; size <= 16; ++size) {
      const Resize r{5, 67, 7, width, 1, Interpolation::nearest};
      std::vector<uint8_t> expected;
      for (int64_t y = 0; y < 7; ++y)
        for (int64_t x = 0; x < width; ++x) {
          const int64_t row = (2 * y + 1) * 5 / 14, column = (2 * x + 1) * 67 / (2 * width);
          const uint8_t* pixel = in.data() + (row * 67 + column) * size;
          expected.insert(expected.end(), pixel, pixel + size);
        }
      on_each_simd_target([&](const std::string& target) {
        std::vector<uint8_t> out(expected.size());
        AlignedScratch scratch(r);
        resize_nearest(r, static_cast<size_t>(size), reinterpret_cast<const std::byte*>(in.data()), 67,
                       reinterpret_cast<std::byte*>(out.data()), width, scratch.data());
        EXPECT_EQ(out, expected) << width << " pixels of " << size << " bytes on " << target;
      });
    }
}

// A region is resized as if it were an image of its own, and only memory of the larger image is read.
TEST(Resize, RegionOfALargerImageEqualsItsCopy) {
  const std::vector<uint8_t> whole = generated(50 * 60 * 3);
  const Resize r{20, 30, 11, 13, 3, Interpolation::bilinear, true};
  std::vector<uint8_t> copy, out(11 * 13 * 3);
  const uint8_t* corner = whole.data() + (30 * 60 + 30) * 3;  // the region ends where the image ends
  for (int64_t y = 0; y < 20; ++y) copy.insert(copy.end(), corner + y * 180, corner + y * 180 + 90);
  AlignedScratch scratch(r);
  resize_u8(r, corner, 180, out.data(), 39, scratch.data());
  EXPECT_EQ(out, resized(r, copy));
}

TEST(Resize, SameSizeCopies) {
  const std::vector<uint8_t> in = generated(9 * 8 * 3);
  EXPECT_EQ(resized({9, 8, 9, 8, 3, Interpolation::bicubic, true}, in), in);
}

TEST(Resize, WithoutAntialiasOnlyTheNearestTwoPixelsCount) {
  // The centre of the only output pixel is between the third and the fourth of six pixels.
  const std::vector<uint8_t> in{255, 255, 10, 30, 255, 255};
  EXPECT_EQ(resized({1, 6, 1, 1, 1, Interpolation::bilinear, false}, in), std::vector<uint8_t>{20});
}

TEST(Resize, FloatsOfEveryTargetEqualTheScalarTwin) {
  const std::vector<uint8_t> noise = generated(65 * 65 * 4);
  std::vector<float> in(noise.begin(), noise.end());
  for (float& value : in) value = (value - 100) / 7;
  for (const Interpolation interpolation :
       {Interpolation::bilinear, Interpolation::bicubic, Interpolation::lanczos, Interpolation::box})
    for (int channels = 1; channels <= 4; ++channels)
      for (const int64_t from : {1, 3, 17, 40, 65})
        for (const int64_t to : {1, 2, 5, 33, 64}) {
          const Resize r{from, to + 1, to, from / 2 + 1, channels, interpolation, to % 2 == 0};
          const auto run = [&](decltype(&resize_f32) form) {
            std::vector<float> out(static_cast<size_t>(r.out_height * r.out_width * channels));
            AlignedScratch scratch(r);
            form(r, in.data(), r.in_width * channels, out.data(), r.out_width * channels, scratch.data());
            return out;
          };
          const std::vector<float> expected = run(resize_f32_scalar);
          on_each_simd_target([&](const std::string& target) {
            EXPECT_EQ(run(resize_f32), expected) << name(r) << " on " << target;
          });
        }
}

TEST(Resize, FloatsFollowTheSameFilterAsBytes) {
  for (Interpolation interpolation : {Interpolation::bilinear, Interpolation::nearest, Interpolation::box}) {
    const Resize r{37, 53, 20, 71, 3, interpolation, true};
    const std::vector<uint8_t> in = generated(37 * 53 * 3), expected = resized(r, in);
    const std::vector<float> in_floats(in.begin(), in.end());
    std::vector<float> out(expected.size());
    AlignedScratch scratch(r);
    resize_f32(r, in_floats.data(), 53 * 3, out.data(), 71 * 3, scratch.data());
    for (size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], expected[i], 1.01f) << i;
  }
}

TEST(Resize, FloatConstantStaysConstant) {
  const Resize r{12, 9, 5, 30, 1, Interpolation::bicubic, true};
  const std::vector<float> in(12 * 9, 0.25f);
  std::vector<float> out(5 * 30);
  AlignedScratch scratch(r);
  resize_f32(r, in.data(), 9, out.data(), 30, scratch.data());
  for (float value : out) EXPECT_NEAR(value, 0.25f, 1e-6f);
}

}  // namespace
}  // namespace headrace::kernels
