#include "headrace/codecs/jpeg/passing.h"

#include <algorithm>
#include <span>

#include "headrace/codecs/jpeg/huffman.h"

namespace headrace::jpeg {
namespace {

constexpr int kMostSteps = 64;                  // 64 + 64 < kEnd: steps past a block are not its end
constexpr int kBeyond = kMostUsed - kPassBits;  // bits of a value that may follow the looked-up ones

constexpr uint16_t packed(int bits, int steps) { return static_cast<uint16_t>(bits | steps << 8); }
constexpr uint16_t kSlow = packed(0, 65);  // outside of what is_plain accepts
int steps_of(uint16_t entry) {
  const int steps = entry >> 8;
  return steps >= Entry::kEnd ? steps - Entry::kEnd : steps;
}

struct Symbol {
  int length, size, steps;  // of the code; of the value; 0: the block ends
};

// Those with short codes, in the order of their codes, which is that of their lengths.
std::span<const Symbol> symbols_of(const Codes& codes, std::array<Symbol, 256>& out) {
  int32_t begin = 0;
  size_t index = 0;
  for (int length = 1; length <= kPassBits; ++length) {
    const int32_t end = codes.above[static_cast<size_t>(length)];
    for (; begin < end && index < out.size(); begin += 1 << (16 - length), ++index) {
      const int size = codes.symbols[index] & 15, run = codes.symbols[index] >> 4;
      out[index] = {length, size, size == 0 && run != 15 ? 0 : run + 1};
    }
  }
  return {out.data(), index};
}

// What each value of `bits` bits begins with: with fewer bits, it is what may follow a symbol. An entry is
// the sum of those of its symbols; `none` where none is whole.
class Levels {
 public:
  explicit Levels(std::span<const Symbol> symbols) : symbols_(symbols) {}

  void make(int bits, uint16_t none, uint16_t* out) {
    none_ = none;
    uint16_t* at = out;
    for (const Symbol& symbol : symbols_) {
      if (symbol.length > bits) break;
      at = put(symbol, bits, at);
    }
    std::fill(at, out + (size_t{1} << bits), none);
    level_[static_cast<size_t>(bits)] = out;
  }

 private:
  uint16_t* put(const Symbol& symbol, int bits, uint16_t* to) {
    const int used = symbol.length + symbol.size, left = bits - used;
    uint16_t* const end = to + (size_t{1} << (bits - symbol.length));
    if (symbol.steps == 0) return fill(to, end, packed(used, Entry::kEnd));
    if (left < 0) {
      note_steps(bits, symbol.steps);
      return fill(to, end, left >= -kBeyond ? packed(used, symbol.steps) : none_);
    }
    // The same whatever the value is.
    const size_t block = size_t{1} << left;
    join(symbol, packed(used, symbol.steps), left, to);
    for (uint16_t* copy = to + block; copy < end; copy += block) std::copy(to, to + block, copy);
    note_steps(bits, symbol.steps + most_steps_[static_cast<size_t>(left)]);
    return end;
  }
  void join(const Symbol& symbol, uint16_t entry, int left, uint16_t* to) const {
    const size_t block = size_t{1} << left;
    const uint16_t* const next = level_[static_cast<size_t>(left)];
    if (symbol.steps + most_steps_[static_cast<size_t>(left)] <= kMostSteps) {
      for (size_t i = 0; i < block; ++i) to[i] = static_cast<uint16_t>(entry + next[i]);
      return;
    }
    for (size_t i = 0; i < block; ++i) {
      const bool fits = symbol.steps + steps_of(next[i]) <= kMostSteps;
      to[i] = fits ? static_cast<uint16_t>(entry + next[i]) : entry;
    }
  }
  static uint16_t* fill(uint16_t* from, uint16_t* end, uint16_t entry) {
    std::fill(from, end, entry);
    return end;
  }
  void note_steps(int bits, int steps) {
    int& most = most_steps_[static_cast<size_t>(bits)];
    most = std::max(most, std::min(steps, kMostSteps));
  }

  static constexpr uint16_t kNone[1] = {0};
  std::span<const Symbol> symbols_;
  uint16_t none_ = 0;
  std::array<const uint16_t*, kPassBits + 1> level_{kNone};
  std::array<int, kPassBits + 1> most_steps_{};
};

}  // namespace

Passing::Passing(const Codes& codes) {
  std::array<Symbol, 256> symbols;
  std::array<uint16_t, size_t{1} << kPassBits> below;  // levels of 1 bit and more, from 2^bits on
  Levels levels(symbols_of(codes, symbols));
  for (int bits = 1; bits < kPassBits; ++bits) levels.make(bits, 0, below.data() + (size_t{1} << bits));
  levels.make(kPassBits, kSlow, look_.data());
}

}  // namespace headrace::jpeg
