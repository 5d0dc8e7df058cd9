#include "headrace/core/random/weighted_order.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "headrace/core/random/key.h"

namespace headrace {

// One binary digit of the logarithm at a time: the square of a number in [1, 2) is in [2, 4) when the digit
// is one.
uint64_t minus_log2(uint64_t u) {
  const int zeros = std::countl_zero(u);
  uint64_t x = (u << zeros) >> 32, digits = 0;  // in [2^31, 2^32)
  for (int i = 0; i < 40; ++i) {
    x = x * x >> 31;
    digits <<= 1;
    if (x >> 32) digits |= 1, x >>= 1;
  }
  return (static_cast<uint64_t>(zeros + 1) << 40) - digits;
}

std::vector<uint64_t> weighted_order(std::span<const double> weights, uint64_t seed, uint64_t epoch,
                                     uint64_t count) {
  const std::array<uint32_t, 2> key{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  std::vector<std::pair<double, uint64_t>> keys;
  for (uint64_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const PhiloxBlock word = philox4x32({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32),
                                         static_cast<uint32_t>(epoch), static_cast<uint32_t>(epoch >> 32)},
                                        key);
    const uint64_t u = word[0] | static_cast<uint64_t>(word[1]) << 32 | 1;
    keys.emplace_back(static_cast<double>(minus_log2(u)) / weights[i], i);
  }
  count = std::min<uint64_t>(count, keys.size());
  std::partial_sort(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count), keys.end());
  std::vector<uint64_t> out(count);
  for (uint64_t p = 0; p < count; ++p) out[p] = keys[p].second;
  return out;
}

}  // namespace headrace
