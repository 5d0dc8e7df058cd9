// Removes the stuffing from entropy-coded JPEG data: for codecs/jpeg/entropy.cc. Free functions on borrowed
// memory, any thread.
#pragma once
#include <cstddef>
#include <cstdint>

namespace headrace::kernels {

struct Unstuffed {
  size_t read = 0, written = 0;
  bool stopped = false;  // at a marker, or at the end
};

// Copies `data` without the zero that follows each 0xFF, until `room` bytes are written, or up to
// kUnstuffMore more, or a marker comes. REQUIRES: room + kUnstuffMore bytes can be written.
Unstuffed unstuff(const uint8_t* data, size_t size, uint8_t* to, size_t room);
Unstuffed unstuff_scalar(const uint8_t* data, size_t size, uint8_t* to, size_t room);

inline constexpr size_t kUnstuffMore = 64;

}  // namespace headrace::kernels
