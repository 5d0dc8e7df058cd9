// Pairs of blocks for tests of the inverse transforms.
#pragma once
#include <array>
#include <random>

#include "headrace/kernels/idct.h"

namespace headrace::kernels {

struct Input {
  alignas(32) std::array<int16_t, kPairSize> coefficients{};
  alignas(32) std::array<uint16_t, kPairSize> quant{};
};

// Values up to `most` in a fraction `share` of the places, factors up to `most_quant`.
inline Input random_input(std::mt19937& random, int most, double share, int most_quant) {
  Input in;
  std::uniform_int_distribution<int> value(-most, most), factor(1, most_quant);
  std::bernoulli_distribution there(share);
  for (size_t i = 0; i < kPairSize; ++i) {
    in.coefficients[i] = static_cast<int16_t>(there(random) ? value(random) : 0);
    in.quant[i] = static_cast<uint16_t>(factor(random));
  }
  return in;
}

}  // namespace headrace::kernels
