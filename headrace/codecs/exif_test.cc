#include "headrace/codecs/exif.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace headrace {
namespace {

int orientation_of(std::string_view tiff) { return exif_orientation(std::as_bytes(std::span(tiff))); }

TEST(Exif, ReadsTheOrientationInBothByteOrders) {
  EXPECT_EQ(orientation_of({"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0", 22}), 6);
  EXPECT_EQ(orientation_of({"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0", 22}), 8);
}

TEST(Exif, DamagedBlocksMeanUpright) {
  const std::string_view whole{"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0", 22};
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(orientation_of(whole.substr(0, size)), 1) << size;
  EXPECT_EQ(orientation_of({"II*\0\xff\xff\xff\xff\x01\0", 10}), 1);  // directory far away
  EXPECT_EQ(orientation_of({"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x09\0\0\0", 22}),
            1);  // 9 is not an orientation
}

// The picture is 2 high, 3 wide:  1 2 3 / 4 5 6. The result of each orientation, by the EXIF definition of
// where row 0 and column 0 of the stored pixels belong.
TEST(Exif, TurnsPixelsUpright) {
  const std::vector<uint8_t> stored{1, 2, 3, 4, 5, 6};
  const std::vector<std::vector<uint8_t>> upright{{1, 2, 3, 4, 5, 6}, {3, 2, 1, 6, 5, 4}, {6, 5, 4, 3, 2, 1},
                                                  {4, 5, 6, 1, 2, 3}, {1, 4, 2, 5, 3, 6}, {4, 1, 5, 2, 6, 3},
                                                  {6, 3, 5, 2, 4, 1}, {3, 6, 2, 5, 1, 4}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    std::vector<uint8_t> out(6);
    apply_orientation(stored.data(), 2, 3, 1, orientation, out.data());
    EXPECT_EQ(out, upright[static_cast<size_t>(orientation) - 1]) << "orientation " << orientation;
  }
}

TEST(Exif, TurningKeepsThePixelsOfAllChannelsTogether) {
  const std::vector<uint8_t> stored{1, 2, 3, 4, 5, 6};
  std::vector<uint8_t> out(6);
  apply_orientation(stored.data(), 1, 2, 3, 3, out.data());
  EXPECT_EQ(out, (std::vector<uint8_t>{4, 5, 6, 1, 2, 3}));
  for (const size_t bytes : {6u, 8u, 12u, 16u}) {  // of wider samples
    std::vector<uint8_t> pixels(2 * bytes), turned(2 * bytes);
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i);
    apply_orientation(pixels.data(), 1, 2, static_cast<int>(bytes), 3, turned.data());
    EXPECT_EQ(turned[0], bytes);
    EXPECT_EQ(turned[2 * bytes - 1], bytes - 1);
  }
}

}  // namespace
}  // namespace headrace
