// The length of the run of consecutive numbers at the front: rows and samples that are adjacent, and are read
// or copied as one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace {

// 0 for an empty list.
inline size_t num_consecutive(std::span<const uint64_t> numbers) {
  size_t n = numbers.empty() ? 0 : 1;
  while (n < numbers.size() && numbers[n] == numbers[0] + n) ++n;
  return n;
}

}  // namespace headrace
