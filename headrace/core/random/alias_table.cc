#include "headrace/core/random/alias_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>

namespace headrace {
namespace {

__extension__ using Wide = unsigned __int128;

}  // namespace

Result<AliasTable> AliasTable::make(std::span<const double> weights) {
  double most = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!std::isfinite(weights[i]) || weights[i] < 0)
      return invalid("weights must be finite and at least 0, got " + std::to_string(weights[i]) + " at " +
                     std::to_string(i))
          .in_op("sample");
    most = std::max(most, weights[i]);
  }
  if (most == 0) return invalid({.expected = "a weight above 0", .got = "none"}).in_op("sample");
  int exponent = 0;
  std::frexp(most, &exponent);
  const uint64_t n = weights.size();
  const int bits = std::min(40, 63 - static_cast<int>(std::bit_width(n)));
  std::vector<uint64_t> scaled(n);  // weight · n: a column holds `sum` of it
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto whole = static_cast<uint64_t>(std::ldexp(weights[i], bits - exponent) + 0.5);
    scaled[i] = whole * n;
    sum += whole;
  }
  AliasTable out;
  out.columns_.resize(n);
  std::vector<uint64_t> small, large;
  for (uint64_t i = 0; i < n; ++i) {
    out.columns_[i].alias = i;
    (scaled[i] < sum ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    const uint64_t less = small.back(), more = large.back();
    small.pop_back();
    out.columns_[less].threshold = static_cast<uint64_t>((static_cast<Wide>(scaled[less]) << 64) / sum);
    out.columns_[less].alias = more;
    scaled[more] -= sum - scaled[less];
    if (scaled[more] < sum) small.push_back(more), large.pop_back();
  }
  return out;
}

}  // namespace headrace
