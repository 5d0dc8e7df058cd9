// From coefficients to the samples of blocks, two at a time: shared by baseline.cc and planes.cc.
#pragma once
#include <array>
#include <cstdint>

#include "headrace/codecs/jpeg/entropy.h"
#include "headrace/kernels/idct.h"

namespace headrace::jpeg {

// A quantisation table, twice side by side, as the transform of two blocks needs it (kernels/idct.h).
class PairTable {
 public:
  void set(const std::array<uint16_t, 64>& table) {
    for (size_t i = 0; i < 64; ++i) {
      const size_t at = static_cast<size_t>(kernels::kPairStride) * (i >> 3) + (i & 7);
      values_[at] = values_[at + 8] = table[i];
    }
  }
  const uint16_t* data() const { return values_; }

 private:
  alignas(32) uint16_t values_[kernels::kPairSize];
};

// The blocks that were read of a component, each to its place. `flat(dc, out)` makes one that has only its
// first coefficient, `pair(coefficients, out0, out1)` two consecutive ones; out1 is null for the last of an
// odd number. Both return whether the block is plain (kernels/idct.h), and so does this.
template <class Sample, class Flat, class Pair> bool transform(const Coefficients& from, int component,
                                                               Sample* const* out, int blocks, Flat&& flat,
                                                               Pair&& pair) {
  for (int block = 0; block < blocks; block += 2) {
    Sample* const out0 = out[block];
    Sample* const out1 = block + 1 < blocks ? out[block + 1] : nullptr;
    const bool are_flat = from.is_flat(component, block) && (!out1 || from.is_flat(component, block + 1));
    const bool are_plain = are_flat ? flat(from.dc(component, block), out0) &&
                                          (!out1 || flat(from.dc(component, block + 1), out1))
                                    : pair(from.pair(component, block / 2), out0, out1);
    if (!are_plain) return false;
  }
  return true;
}

}  // namespace headrace::jpeg
