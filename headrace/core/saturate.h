// Products and sums that saturate at the largest number instead of wrapping around. Sizes from untrusted
// sources go through these, so that one that is too large is refused by the comparison with a limit.
#pragma once
#include <cstdint>

namespace headrace {

constexpr uint64_t saturating_mul(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? ~uint64_t{0} : product;
}

constexpr uint64_t saturating_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? ~uint64_t{0} : sum;
}

}  // namespace headrace
