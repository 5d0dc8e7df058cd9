// Where certain bytes stand in a text, a bit for each byte: what parsers look for is then found word by word,
// and where one field ends does not wait for the one before it. Any thread.
#pragma once
#include <cstdint>

namespace headrace::kernels {

// The bytes that are wanted: `one`, `other`, and all below `bound`.
struct WantedBytes {
  uint8_t one = 0, other = 0, bound = 0;
};

// Bit i % 64 of bits[i / 64] is whether byte i is wanted; those behind `count` are 0. `bits` has (count + 63)
// / 64 words.
void mark_bytes(const uint8_t* text, int64_t count, const WantedBytes& wanted, uint64_t* bits);
void mark_bytes_scalar(const uint8_t* text, int64_t count, const WantedBytes& wanted, uint64_t* bits);

}  // namespace headrace::kernels
