// Huffman tables of baseline JPEG, and the bit reader that runs over them.
//
// A look-up takes the next 10 bits. It finds up to two whole symbols with their values, and whether the block
// ends after them.
#pragma once
#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "headrace/codecs/jpeg/baseline_header.h"
#include "headrace/codecs/jpeg/passing.h"

namespace headrace::jpeg {

// 9 and 11 are slower: more look-ups, or more time to build the tables.
inline constexpr int kLookBits = 10;
inline constexpr int kLookUps = 3;               // after each refill
inline constexpr int kMostUsed = 56 / kLookUps;  // bits, of a look-up

// One code of any length: the fallback for a look-up that is too short.
struct Codes {
  std::array<uint16_t, 1 << kLookBits> look;  // symbol << 8 | length; 0: longer than kLookBits
  std::array<int32_t, 18> above;  // [length]: codes of that length are below this, left-aligned in 16 bits
  std::array<int32_t, 17> to_symbol;  // [length]: code + this = index of its symbol
  std::array<uint8_t, 256> symbols;
};

// The result of a look-up: one or two coefficients. The bits of the last one may extend beyond those of the
// look-up. An index k of a block is that of the next coefficient, so a new block begins with 0.
class Entry {
 public:
  // Added to the steps where the block ends; 64 steps end it as well.
  static constexpr int kEnd = 129;
  // Whether a block ends at k, or goes on; anything else takes the slow path.
  static bool is_plain(size_t k) { return ((k - 65) & 64) != 0; }  // 1 to 64, 129 to 192

  Entry() = default;
  // Takes the slow path: steps outside of what is_plain accepts, from any k up to 63.
  static Entry slow() { return {0, 1, 65, 0, 0, 0}; }
  // REQUIRES: used <= kMostUsed; to_first <= steps <= 32, but for kEnd. With one coefficient it is the last.
  Entry(int used, int to_first, int steps, int first, int last, int more)
      : bits_(static_cast<uint64_t>(used) | static_cast<uint64_t>(to_first) << 8 |
              static_cast<uint64_t>(steps) << 16 | static_cast<uint64_t>(63 - more) << 24 |
              static_cast<uint64_t>(static_cast<uint16_t>(last)) << 32 |
              static_cast<uint64_t>(static_cast<uint16_t>(first)) << 48) {}

  int used() const { return static_cast<int>(bits_ & 63); }             // bits; 0: slow
  size_t to_first() const { return static_cast<uint8_t>(bits_ >> 8); }  // from k to past the first one
  size_t steps() const { return static_cast<uint8_t>(bits_ >> 16); }    // from k to past the last one
  int16_t first() const { return static_cast<int16_t>(bits_ >> 48); }
  // `behind`: the bits after those of the look-up, as returned by Bits::behind.
  int16_t last(uint64_t behind) const {
    return static_cast<int16_t>((bits_ >> 32) + (behind >> (bits_ >> 24 & 63)));
  }

 private:
  uint64_t bits_ = 0;
};

using LookUp = std::array<Entry, 1 << kLookBits>;

struct Table {
  Codes codes;
  LookUp look;
};

// Used by one thread.
struct Tables {
  std::array<Table, 4> dc, ac;
  // Made at first use: most crops begin below the first rows, whole pictures do not.
  const Passing& passing(int ac_table) const {
    std::unique_ptr<const Passing>& made = passing_[static_cast<size_t>(ac_table)];
    if (!made) made = std::make_unique<const Passing>(ac[static_cast<size_t>(ac_table)].codes);
    return *made;
  }
  void are_new() {
    for (auto& made : passing_) made.reset();
  }

 private:
  mutable std::array<std::unique_ptr<const Passing>, 4> passing_;
};

// Built from the tables that the scan's components use; null when one of them is not a valid code. Kept for
// the next image on this thread, because most files of a data set share their tables.
const Tables* tables_of(const Scan& scan);

// Bits of entropy-coded data from which stuffing was removed. REQUIRES: 8 bytes can be read from any position
// it reaches; entropy.h ensures it.
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
  // The bits after the next `bits`, below a top bit of 0.
  uint64_t behind(int bits) const { return held_ << bits >> 1; }
  void skip(int bits) { held_ <<= bits, count_ -= bits; }
  // The data from the next byte on moves to `origin`. Returns where that byte was.
  int64_t rebase(const uint8_t* origin) {
    const int64_t moved = from_ - origin;
    from_ = origin;
    return moved;
  }
  // Whether a refill reads beyond `limit`.
  bool is_behind(const uint8_t* limit) const { return from_ > limit; }
  // Bits consumed since `origin`.
  int64_t position(const uint8_t* origin) const { return (from_ - origin) * 8 - count_; }

 private:
  const uint8_t* from_ = nullptr;
  uint64_t held_ = 0;  // the next bits, from the top
  int count_ = 0;      // how many of them are counted; lower ones may be valid or not
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

// A value of `size` bits in JPEG's coding: a first bit of 0 means a negative one. Without a branch, also for
// size 0. REQUIRES: size bits held, size < 16.
inline int next_value(Bits& bits, int size) {
  const auto raw = static_cast<int>(bits.peek(32) >> 1 >> (31 - size));
  const int negative = static_cast<int>(bits.peek(1)) - 1;  // -1 when the first bit is 0
  bits.skip(size);
  return raw - (((1 << size) - 1) & negative);
}

}  // namespace headrace::jpeg
