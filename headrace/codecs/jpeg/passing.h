// Look-ups for skipped blocks: how many bits some symbols take and how many coefficients they cover, without
// their values. This way a look-up finds as many symbols as begin and end in its bits, in two bytes.
#pragma once
#include <array>
#include <cstdint>

namespace headrace::jpeg {

struct Codes;

// 12 are as fast; 13 take more time to build.
inline constexpr int kPassBits = 11;

class Passing {
 public:
  // Bits in the lower byte, at most kMostUsed (huffman.h); in the upper one steps as in Entry::steps, except
  // that an end adds kEnd alone. REQUIRES: `codes` are those of an AC table.
  explicit Passing(const Codes& codes);
  uint32_t operator[](uint32_t bits) const { return look_[bits]; }

 private:
  std::array<uint16_t, 1 << kPassBits> look_;
};

}  // namespace headrace::jpeg
