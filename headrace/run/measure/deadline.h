// Deadlines for timeouts.
#pragma once
#include <chrono>
#include <cstdint>

namespace headrace {

// The time `milliseconds` from now, clamped to what the clock can represent.
inline std::chrono::steady_clock::time_point deadline_in(uint64_t milliseconds) {
  constexpr uint64_t kMost = uint64_t{36500} * 24 * 3600 * 1000;  // a century
  return std::chrono::steady_clock::now() +
         std::chrono::milliseconds(milliseconds < kMost ? milliseconds : kMost);
}

}  // namespace headrace
