#include "headrace/codecs/highway_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "headrace/kernels/targets.h"

namespace headrace {
namespace {

TEST(HighwayHash, IsThatOfTheBytesEveryRiegeliFileBeginsWith) {
  std::vector<std::byte> next_chunk(16);  // the block's header: none before, one at byte 64
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

TEST(HighwayHash, OfWhatIsCopiedPieceByPieceItIsTheSame) {
  std::mt19937_64 random(2);
  std::vector<std::byte> bytes(20'000), copy(bytes.size() + 1);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  kernels::on_each_simd_target([&](const std::string& target) {
    for (int round = 0; round < 40; ++round) {
      const auto all = std::span(bytes).first(random() % (round < 20 ? 200 : bytes.size()));
      std::ranges::fill(copy, std::byte{0});
      RiegeliCopy made(copy.data());
      for (size_t at = 0; at < all.size();) {
        const size_t size = std::min(all.size() - at, random() % (round % 2 ? 7000 : 70));
        made.add(all.subspan(at, size));
        at += size;
      }
      ASSERT_EQ(made.hash(), riegeli_hash_scalar(all)) << target << ", " << all.size();
      ASSERT_TRUE(std::ranges::equal(std::span(copy).first(all.size()), all));
      ASSERT_EQ(copy[all.size()], std::byte{0});
    }
  });
}

}  // namespace
}  // namespace headrace
