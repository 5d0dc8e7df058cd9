// An order drawn from weights without replacement: all elements, those of larger weight tending to come
// earlier, as if each next one were drawn from the rest. By exponential keys (Efraimidis and Spirakis, 2006),
// in integers, the same on every machine.
//
// Layout, part of the contract (also implemented by tests/model/sampling.py): element i of weight w > 0 has
// the key
//   -log2(u) / w in doubles, with u = (word 0 | word 1 << 32 of philox(key = seed, counter = (i_lo, i_hi,
//   epoch_lo, epoch_hi)) | 1) / 2^64 and -log2 in steps of 2^-40 (see minus_log2); elements are in ascending
//   order of keys, the lower index first among equals; those of weight 0 are left out.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

// The first `count` elements of an epoch's order.
std::vector<uint64_t> weighted_order(std::span<const double> weights, uint64_t seed, uint64_t epoch,
                                     uint64_t count);

// -log2(u / 2^64) · 2^40, rounded down after 40 binary digits; REQUIRES: u > 0.
uint64_t minus_log2(uint64_t u);

}  // namespace headrace
