// Huffman tables of baseline JPEG, and the bit reader that runs over them.
//
// A look-up takes the next 10 bits. For AC coefficients, where most of the time goes, an entry holds up to
// two whole symbols with their values.
#pragma once
#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "headrace/codecs/jpeg/scan.h"

namespace headrace::jpeg {

inline constexpr int kLookBits = 10;

// One code of any length: what a look-up that is too short falls back to.
struct Codes {
  std::array<uint16_t, 1 << kLookBits> look;  // symbol << 8 | length; 0: longer than kLookBits
  std::array<int32_t, 18> above;      // [length]: codes of that length lie below, left-aligned in 16 bits
  std::array<int32_t, 17> to_symbol;  // [length]: code + this = index of its symbol
  std::array<uint8_t, 256> symbols;
};

// What an AC look-up finds, in 32 bits: up to two values, the zeros before them, and whether the block ends.
class AcEntry {
 public:
  static constexpr int kMostFirst = 8, kMostSecond = 6;  // bits of a value that has room

  AcEntry() = default;
  static AcEntry slow() { return AcEntry(1u << 4); }
  AcEntry(int used, bool ends, int run, int first, int steps, int second)
      : bits_(static_cast<uint32_t>(used) | static_cast<uint32_t>(ends) << 6 |
              static_cast<uint32_t>(run) << 7 | static_cast<uint32_t>(steps) << 11 |
              (static_cast<uint32_t>(second) & 127) << 16 | static_cast<uint32_t>(first) << 23) {}

  bool is_slow() const { return (bits_ & 1u << 4) != 0; }  // take one symbol the long way
  bool ends_block() const { return (bits_ & 1u << 6) != 0; }
  // The rest REQUIRES: not slow.
  int used() const { return static_cast<int>(bits_ & 15); }      // bits
  int run() const { return static_cast<int>(bits_ >> 7 & 15); }  // zeros before the first value
  int steps() const {
    return static_cast<int>(bits_ >> 11 & 31);
  }  // from the first value to the second; 0: none
  int16_t first_value() const { return static_cast<int16_t>(static_cast<int32_t>(bits_) >> 23); }
  int16_t second_value() const { return static_cast<int16_t>(static_cast<int32_t>(bits_ << 9) >> 25); }

 private:
  explicit AcEntry(uint32_t bits) : bits_(bits) {}
  uint32_t bits_ = 0;
};

struct AcTable {
  Codes codes;
  std::array<AcEntry, 1 << kLookBits> look;
};

struct Tables {
  std::array<Codes, 4> dc;
  std::array<AcTable, 4> ac;
};

// Built from the tables that the scan's components use; null when one of them is not a proper code. Kept for
// the next image on this thread, for most files of a data set share theirs.
const Tables* tables_of(const Scan& scan);

// Bits of entropy-coded data from which stuffing is taken out. REQUIRES: 8 bytes can be read wherever it
// comes to; entropy.h sees to it.
class Bits {
 public:
  void seek(const uint8_t* to) { from_ = to, held_ = 0, count_ = 0; }

  // From here on at least 56 bits are held.
  void refill() {
    uint64_t next;
    std::memcpy(&next, from_, 8);
    if constexpr (std::endian::native == std::endian::little) next = __builtin_bswap64(next);
    held_ |= next >> count_;
    from_ += (63 - count_) >> 3;
    count_ |= 56;
  }
  uint32_t peek(int bits) const { return static_cast<uint32_t>(held_ >> (64 - bits)); }
  void skip(int bits) { held_ <<= bits, count_ -= bits; }
  // The data from the next byte on moves to `origin`. Answers where that byte was.
  int64_t rebase(const uint8_t* origin) {
    const int64_t moved = from_ - origin;
    from_ = origin;
    return moved;
  }
  // Bits consumed since `origin`.
  int64_t position(const uint8_t* origin) const { return (from_ - origin) * 8 - count_; }

 private:
  const uint8_t* from_ = nullptr;
  uint64_t held_ = 0;  // the next bits, from the top
  int count_ = 0;      // how many of them are told for; those below may be there or not
};

// The symbol of the next code, whatever its length; -1 when no code fits. REQUIRES: 16 bits held.
inline int next_symbol(const Codes& codes, Bits& bits) {
  const uint16_t found = codes.look[bits.peek(kLookBits)];
  if (found != 0) [[likely]] {
    bits.skip(found & 255);
    return found >> 8;
  }
  const auto next = static_cast<int32_t>(bits.peek(16));
  for (int length = kLookBits + 1; length <= 16; ++length) {
    if (next >= codes.above[static_cast<size_t>(length)]) continue;
    bits.skip(length);
    return codes
        .symbols[static_cast<size_t>((next >> (16 - length)) + codes.to_symbol[static_cast<size_t>(length)]) &
                 255];
  }
  return -1;
}

// A value of `size` bits as JPEG codes it: a first bit of 0 stands for a negative one. Without a branch, also
// for size 0. REQUIRES: size bits held, size < 16.
inline int next_value(Bits& bits, int size) {
  const auto raw = static_cast<int>(bits.peek(32) >> 1 >> (31 - size));
  const int negative = static_cast<int>(bits.peek(1)) - 1;  // -1 when the first bit is 0
  bits.skip(size);
  return raw - (((1 << size) - 1) & negative);
}

}  // namespace headrace::jpeg
