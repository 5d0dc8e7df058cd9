// Numbers as files hold them: little-endian, of unknown alignment.
#pragma once
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

namespace headrace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie in the file");

// REQUIRES, of both: the caller has checked that its bytes are there.
template <class T> T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
template <class T> T load(std::span<const std::byte> bytes, size_t offset = 0) {
  return load<T>(bytes.data() + offset);
}

// The same of bytes that another process may change meanwhile: read once, whatever is done with the value.
template <class T> T load_once(std::span<const std::byte> bytes, size_t offset = 0) {
  T value = load<T>(bytes, offset);
  asm volatile("" : "+r"(value));  // the compiler cannot know that it is what stands there
  return value;
}

}  // namespace headrace
