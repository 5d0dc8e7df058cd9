#include "headrace/kernels/mark_bytes.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "headrace/kernels/targets.h"

namespace headrace::kernels {
namespace {

TEST(MarkBytes, MarksThoseThatAreWanted) {
  const std::string_view text = "a,\"b\"\n\xFF,";
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  const auto count = static_cast<int64_t>(text.size());
  uint64_t bits = ~uint64_t{0};
  mark_bytes(bytes, count, {',', ',', 0}, &bits);
  EXPECT_EQ(bits, 0b10000010u);
  mark_bytes(bytes, count, {'"', ',', 0x20}, &bits);
  EXPECT_EQ(bits, 0b10110110u);
}

TEST(MarkBytes, EveryTargetEqualsTheScalarTwin) {
  std::vector<uint8_t> text(300);
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<uint8_t>(i * 7 + i / 5);
  for (const WantedBytes& wanted :
       {WantedBytes{',', '"', 0}, WantedBytes{0, 0, 0}, WantedBytes{255, '\\', 0x20}})
    for (int64_t count : {0, 1, 63, 64, 65, 127, 128, 191, 299}) {
      const auto words = static_cast<size_t>((count + 63) / 64);
      std::vector<uint64_t> twin(words, 1), bits(words);
      mark_bytes_scalar(text.data() + 1, count, wanted, twin.data());
      on_each_simd_target([&](const std::string& target) {
        bits.assign(words, 2);
        mark_bytes(text.data() + 1, count, wanted, bits.data());
        EXPECT_EQ(bits, twin) << target << ", bytes " << count;
      });
    }
}

}  // namespace
}  // namespace headrace::kernels
