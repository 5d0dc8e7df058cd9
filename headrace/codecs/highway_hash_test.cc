#include "headrace/codecs/highway_hash.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "headrace/kernels/targets.h"

namespace headrace {
namespace {

TEST(HighwayHash, IsThatOfTheBytesEveryRiegeliFileBeginsWith) {
  std::vector<std::byte> next_chunk(16);  // the block's header says: none before, one at byte 64
  next_chunk[8] = std::byte{64};
  EXPECT_EQ(riegeli_hash(next_chunk), 0x3f4a880dd170af83u);
  EXPECT_EQ(riegeli_hash({}), 0x72c3b1e9c0139fe1u);
  EXPECT_EQ(riegeli_hash_scalar(next_chunk), 0x3f4a880dd170af83u);
}

TEST(HighwayHash, EveryTargetEqualsTheScalarTwinAtEveryLengthAndAlignment) {
  std::mt19937_64 random(1);
  std::vector<std::byte> bytes(1100);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  for (size_t length : {0, 1, 2, 3, 4, 5, 15, 16, 17, 19, 20, 23, 31, 32, 33, 63, 64, 100, 127, 1000, 1087})
    for (size_t offset = 0; offset < 9; ++offset) {
      const auto part = std::span(bytes).subspan(offset, length);
      const uint64_t expected = riegeli_hash_scalar(part);
      kernels::on_each_simd_target([&](const std::string& target) {
        ASSERT_EQ(riegeli_hash(part), expected) << target << ", " << length << " at " << offset;
      });
    }
}

}  // namespace
}  // namespace headrace
