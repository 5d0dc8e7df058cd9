// Numbers out of bytes of unknown alignment. REQUIRES everywhere: the caller has checked that the bytes are
// there.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headrace::trial {

static_assert(std::endian::native == std::endian::little,
              "the readers below copy little-endian numbers as they lie");

template <class T> T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

// Whether [offset, offset + length) lies within `size`; the sum cannot overflow.
inline bool within(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

}  // namespace headrace::trial
