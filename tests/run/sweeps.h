// How much of a long sweep runs: all of it, or under sanitizers in CI one part in $HEADRACE_SWEEPS.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace headrace::testing {

inline uint64_t sweep_divisor() {
  const char* const given = std::getenv("HEADRACE_SWEEPS");
  return given ? std::max<uint64_t>(1, std::strtoull(given, nullptr, 10)) : 1;
}
inline uint64_t of_sweep(uint64_t all) { return std::max<uint64_t>(1, all / sweep_divisor()); }

}  // namespace headrace::testing
