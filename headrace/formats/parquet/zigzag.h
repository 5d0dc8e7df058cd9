// Zigzag encoding of signed integers: 0, -1, 1, -2, … become 0, 1, 2, 3, so that small magnitudes stay small.
#pragma once
#include <cstdint>

namespace headrace::parquet {

inline uint64_t in_zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t from_zigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

}  // namespace headrace::parquet
