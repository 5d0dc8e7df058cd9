#include "headrace/codecs/jpeg/passing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "headrace/codecs/jpeg/huffman.h"

namespace headrace::jpeg {
namespace {

// Random symbols of random lengths, with a code left free, as in a file.
Codes random_codes(std::mt19937& draw, bool long_runs) {
  Codes out{};
  int32_t code = 0, index = 0;
  for (int length = 1; length <= 16; ++length) {
    out.to_symbol[static_cast<size_t>(length)] = index - code;
    const int room = (1 << length) - 1 - code;
    const int codes = room > 0 && index < 150 ? static_cast<int>(draw() % (1 + std::min(room, 12)) / 2) : 0;
    for (int i = 0; i < codes; ++i, ++index, ++code)
      out.symbols[static_cast<size_t>(index)] =
          static_cast<uint8_t>(long_runs ? 0xF0 | draw() % 3 : draw() % 256);
    out.above[static_cast<size_t>(length)] = code << (16 - length);
    code <<= 1;
  }
  return out;
}

struct Walked {
  int bits = 0, steps = 0;
};

// The contents of the bits, symbol by symbol: where one may stop.
std::vector<Walked> walk(const Codes& codes, uint32_t window) {
  std::vector<Walked> out{{}};
  while (true) {
    Walked at = out.back();
    int32_t found = -1, found_length = 0;
    for (int length = 1; length <= 16 && found < 0; ++length) {
      const int32_t end = codes.above[static_cast<size_t>(length)];
      const auto next =
          static_cast<int32_t>((window << at.bits & ((1u << kPassBits) - 1)) << (16 - kPassBits));
      if (next < end) {
        found = codes.symbols[static_cast<size_t>((next >> (16 - length)) +
                                                  codes.to_symbol[static_cast<size_t>(length)])];
        found_length = length;
      }
    }
    if (found < 0 || at.bits + found_length > kPassBits) return out;
    const int size = found & 15, run = found >> 4;
    at.bits += found_length + size;
    const bool ends = size == 0 && run != 15;
    at.steps += ends ? Entry::kEnd : run + 1;
    if (at.bits > kMostUsed) return out;
    out.push_back(at);
    if (ends || at.bits >= kPassBits) return out;
  }
}

TEST(Passing, FindsAsManySymbolsAsAreThere) {
  std::mt19937 draw(1);
  for (int round = 0; round < 200; ++round) {
    const Codes codes = random_codes(draw, round % 4 == 3);
    const Passing passing(codes);
    for (uint32_t window = 0; window < 1u << kPassBits; ++window) {
      const std::vector<Walked> walked = walk(codes, window);
      const int bits = static_cast<int>(passing[window] & 255),
                steps = static_cast<int>(passing[window] >> 8);
      if (walked.size() == 1) {
        ASSERT_EQ(bits, 0);
        ASSERT_FALSE(Entry::is_plain(1 + static_cast<size_t>(steps)));
        continue;
      }
      // All steps, or fewer where more than 64 would read as the end of a block.
      const auto is_it = [&](const Walked& one) { return one.bits == bits && one.steps == steps; };
      ASSERT_TRUE(std::any_of(walked.begin() + 1, walked.end(), is_it)) << round << " " << window;
      const int all = walked.back().steps, plain = all >= Entry::kEnd ? all - Entry::kEnd : all;
      if (plain <= 64) {
        ASSERT_TRUE(is_it(walked.back())) << round << " " << window;
      }
      ASSERT_LE(steps >= Entry::kEnd ? steps - Entry::kEnd : steps, 64);
    }
  }
}

}  // namespace
}  // namespace headrace::jpeg
