// Positions of certain bytes in a text, a bit for each byte: parsers then search word by word, and finding
// the end of one field does not depend on the one before it. Any thread.
#pragma once
#include <cstdint>

namespace headrace::kernels {

// The bytes to find: `one`, `other`, and all below `bound`.
struct WantedBytes {
  uint8_t one = 0, other = 0, bound = 0;
};

// Bit i % 64 of bits[i / 64] is whether byte i is one of them; bits from `count` on are 0. `bits` has (count
// + 63) / 64 words.
void mark_bytes(const uint8_t* text, int64_t count, const WantedBytes& wanted, uint64_t* bits);
void mark_bytes_scalar(const uint8_t* text, int64_t count, const WantedBytes& wanted, uint64_t* bits);

}  // namespace headrace::kernels
