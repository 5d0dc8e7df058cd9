// How many numbers from the first on are each the one before it and one more: rows and samples that lie side
// by side, and are read or copied as one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace {

// 0 of none.
inline size_t num_consecutive(std::span<const uint64_t> numbers) {
  size_t n = numbers.empty() ? 0 : 1;
  while (n < numbers.size() && numbers[n] == numbers[0] + n) ++n;
  return n;
}

}  // namespace headrace
