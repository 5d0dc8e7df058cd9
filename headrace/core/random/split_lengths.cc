#include "headrace/core/random/split_lengths.h"

#include <cmath>
#include <numeric>
#include <string>

#include "headrace/core/value.h"

namespace headrace {
namespace {

// Of what fractions add up to, as sums of 0.1 round.
constexpr double kRounding = 1e-6;

std::string text_of(std::span<const double> lengths) {
  std::vector<Value> out(lengths.begin(), lengths.end());
  return Value(std::move(out)).dump();
}

}  // namespace

Result<std::vector<uint64_t>> split_lengths(std::span<const double> lengths, uint64_t total) {
  const auto refused = [&] {
    return invalid({.expected = "fractions that sum to 1, or numbers of elements that sum to " +
                                std::to_string(total),
                    .got = text_of(lengths)})
        .in_option("lengths");
  };
  double sum = 0;
  bool are_whole = true;
  for (const double length : lengths) {
    if (!(length >= 0) || !std::isfinite(length)) return refused();
    sum += length;
    are_whole = are_whole && length == std::floor(length);
  }
  std::vector<uint64_t> out;
  if (are_whole && sum == static_cast<double>(total)) {
    for (const double length : lengths) out.push_back(static_cast<uint64_t>(length));
    return out;
  }
  if (std::abs(sum - 1) > kRounding) return refused();
  // A product such as 0.29 · 100 is a little below what it stands for.
  for (const double length : lengths)
    out.push_back(static_cast<uint64_t>(length * static_cast<double>(total) + kRounding));
  const uint64_t given = std::accumulate(out.begin(), out.end(), uint64_t{0});
  if (given > total) return refused();
  for (uint64_t i = 0; i < total - given; ++i) ++out[i % out.size()];
  return out;
}

}  // namespace headrace
