// Numbers as they are stored in files: little-endian, of unknown alignment.
#pragma once
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

namespace headrace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are in the file");

// REQUIRES for both: the caller has checked that the bytes are there.
template <class T> T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <class T> T load(std::span<const std::byte> bytes, size_t offset = 0) {
  return load<T>(bytes.data() + offset);
}

// The same for bytes that another process may change at the same time: read exactly once.
template <class T> T load_once(std::span<const std::byte> bytes, size_t offset = 0) {
  T value = load<T>(bytes, offset);
  asm volatile("" : "+r"(value));  // keeps the compiler from reading it again
  return value;
}

}  // namespace headrace
