#include "headrace/codecs/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

namespace headrace {
namespace {

TEST(Crc32c, IsCastagnolis) {
  EXPECT_EQ(crc32c(std::as_bytes(std::span(std::string_view("123456789")))), 0xE3069283u);
  EXPECT_EQ(crc32c({}), 0u);
}

TEST(Crc32c, TheInstructionEqualsTheTableAtEveryLengthAndAlignment) {
  std::mt19937_64 random(1);
  std::vector<std::byte> bytes(20'000);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  for (size_t length : {1, 7, 8, 9, 63, 1023, 3071, 3072, 3073, 3080, 6144, 6150, 19'990})
    for (size_t offset = 0; offset < 9; ++offset) {
      const auto part = std::span(bytes).subspan(offset, length);
      ASSERT_EQ(crc32c(part), crc32c_by_table(part)) << length << " at " << offset;
    }
}

}  // namespace
}  // namespace headrace
