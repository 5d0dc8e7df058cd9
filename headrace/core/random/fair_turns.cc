#include "headrace/core/random/fair_turns.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headrace/core/random/key.h"

namespace headrace {
namespace {

constexpr uint64_t kMostTurns = 1 << 14;  // held, if the cycle is short
constexpr uint64_t kFewVariants = 4, kManyVariants = 64;
constexpr double kExact = 1e-7, kNearlyOne = 0.99;  // of a share
constexpr uint64_t kNever = ~uint64_t{0};

// Integer shares with the given sum that are exactly proportional to these weights; empty when there are
// none.
std::vector<uint32_t> exact_shares(std::span<const double> weights, double sum, uint32_t of) {
  std::vector<uint32_t> out;
  for (const double weight : weights) {
    const double share = weight / sum * of, whole = std::floor(share + 0.5);
    if (std::abs(share - whole) > kExact || (whole == 0 && weight > 0)) return {};
    out.push_back(static_cast<uint32_t>(whole));
  }
  return std::accumulate(out.begin(), out.end(), uint64_t{0}) == of ? out : std::vector<uint32_t>();
}

// Rounds down and gives the rest to the largest remainders, the first among equals; empty when a weight gets
// 0 before that.
std::vector<uint32_t> nearest_shares(std::span<const double> weights, double sum, uint32_t of) {
  std::vector<uint32_t> out;
  std::vector<double> left;
  for (const double weight : weights) {
    const double share = weight / sum * of;
    const double whole = share > kNearlyOne && share < 1 ? 1 : std::floor(share);
    if (whole == 0 && weight > 0) return {};
    out.push_back(static_cast<uint32_t>(whole));
    left.push_back(share - whole);
  }
  for (uint64_t n = std::accumulate(out.begin(), out.end(), uint64_t{0}); n < of; ++n) {
    const auto most = std::max_element(left.begin(), left.end());
    ++out[static_cast<size_t>(most - left.begin())];
    *most = -1;
  }
  return out;
}

}  // namespace

std::vector<uint32_t> shares_of(std::span<const double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (uint32_t of = 1; of <= FairTurns::kMostShares; ++of)
    if (auto shares = exact_shares(weights, sum, of); !shares.empty()) return shares;
  return nearest_shares(weights, sum, FairTurns::kMostShares);
}

FairTurns::FairTurns(std::vector<uint32_t> shares, uint64_t seed, uint32_t piece)
    : shares_(std::move(shares)) {
  period_ = std::accumulate(shares_.begin(), shares_.end(), uint64_t{0});
  variants_ = std::clamp(kMostTurns / period_, kFewVariants, kManyVariants);
  const PhiloxBlock words = philox4x32({piece, 0x3117, 0, 0}, halves(seed));
  key_ = words[0] | static_cast<uint64_t>(words[1]) << 32;
  turns_.reserve(variants_ * period_);
  for (uint32_t v = 0; v < variants_; ++v) draw(v);
}

// Each turn has a window of positions, and all windows together leave no position free: before each end D of
// a window, as many turns must be over as end up to there. slack[D] is the number of spare positions; a
// source may go ahead of the others only while no end before its own has used up its slack.
void FairTurns::draw(uint32_t variant) {
  struct Next {
    uint64_t count = 0, deadline = 0, wanted = kNever, blocked = 0;
  };
  std::vector<uint64_t> slack(period_ + 1);
  for (uint64_t d = 0; d <= period_; ++d) {
    slack[d] = d;
    for (const uint64_t n : shares_) slack[d] -= d * n / period_;
  }
  std::vector<Next> next(shares_.size());
  const auto advance = [&](uint32_t i) {
    const uint64_t n = shares_[i], j = next[i].count;
    if (j == n) return void(next[i].wanted = kNever);
    const uint64_t release = j * period_ / n;
    next[i].deadline = ((j + 1) * period_ + n - 1) / n;
    const uint64_t word = philox4x32({i, static_cast<uint32_t>(j), variant, 0}, halves(key_))[0];
    next[i].wanted = (release << 16) + (word * ((next[i].deadline - release) << 16) >> 32);
  };
  for (uint32_t i = 0; i < next.size(); ++i) advance(i);
  for (uint64_t t = 0; t < period_; ++t) {
    uint32_t chosen = 0;
    for (bool found = false; !found;) {
      chosen = static_cast<uint32_t>(next.size());
      for (uint32_t i = 0; i < next.size(); ++i) {
        const bool may = next[i].wanted != kNever && next[i].blocked <= t &&
                         next[i].count * period_ < (t + 1) * shares_[i];
        if (may && (chosen == next.size() || next[i].wanted < next[chosen].wanted)) chosen = i;
      }
      Next& candidate = next[chosen];
      const auto used_up = std::find(slack.begin() + static_cast<std::ptrdiff_t>(t + 1),
                                     slack.begin() + static_cast<std::ptrdiff_t>(candidate.deadline), 0u);
      const auto end = static_cast<uint64_t>(used_up - slack.begin());
      found = end == candidate.deadline;
      if (!found) candidate.blocked = end;
    }
    Next& candidate = next[chosen];
    for (uint64_t d = t + 1; d < candidate.deadline; ++d) --slack[d];
    turns_.push_back({static_cast<uint16_t>(chosen), static_cast<uint16_t>(candidate.count++)});
    advance(chosen);
  }
}

uint64_t FairTurns::taken(uint32_t source, uint64_t end) const {
  const uint64_t cycle = end / period_, first = variant(cycle) * period_;
  uint64_t count = cycle * shares_[source];
  for (uint64_t i = first; i < first + end % period_; ++i) count += turns_[i].source == source;
  return count;
}

uint64_t FairTurns::position_of(uint32_t source, uint64_t before) const {
  const uint64_t n = shares_[source];
  if (n == 0 || before / n >= (uint64_t{1} << 63) / period_) return kNever;
  const uint64_t cycle = before / n, first = variant(cycle) * period_;
  for (uint64_t i = before % n * period_ / n; i < period_; ++i)
    if (turns_[first + i].source == source && turns_[first + i].before == before % n)
      return cycle * period_ + i;
  return kNever;
}

}  // namespace headrace
