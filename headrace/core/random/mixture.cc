#include "headrace/core/random/mixture.h"

#include <algorithm>
#include <cmath>

namespace headrace {
namespace {

std::string text_of(const std::vector<double>& weights) {
  std::string out;
  for (const double weight : weights) out += (out.empty() ? "" : ", ") + std::to_string(weight);
  return "[" + out + "]";
}

Status check(const MixWeights& step) {
  bool any = false;
  for (const double weight : step.weights) {
    if (!std::isfinite(weight) || weight < 0)
      return invalid("weights must be finite and at least 0, got " + text_of(step.weights)).in_op("mix");
    any = any || weight > 0;
  }
  if (!any) return invalid({.expected = "a weight above 0", .got = text_of(step.weights)}).in_op("mix");
  if (shares_of(step.weights).empty())
    return invalid("each weight must be 0 or at least 1 in 65521 of their sum, got " + text_of(step.weights))
        .in_op("mix");
  return {};
}

}  // namespace

Result<Mixture> Mixture::make(std::vector<MixWeights> schedule, uint64_t seed) {
  if (schedule.empty() || schedule[0].from != 0)
    return invalid("the schedule must begin at position 0").in_op("mix");
  for (size_t i = 0; i < schedule.size(); ++i) {
    if (i > 0 && schedule[i].from <= schedule[i - 1].from)
      return invalid("the positions of a schedule must ascend, got " + std::to_string(schedule[i].from) +
                     " after " + std::to_string(schedule[i - 1].from))
          .in_op("mix");
    HEADRACE_TRY(check(schedule[i]));
  }
  Mixture out;
  out.out_.resize(schedule[0].weights.size());
  out.schedule_ = std::move(schedule);
  out.seed_ = seed;
  for (const MixWeights& step : out.schedule_) out.begin_piece(step.from);
  return out;
}

// The weights of this step over the remaining sources; where all of them are 0, those of the first later step
// with a weight above 0.
std::optional<FairTurns> Mixture::turns_from(size_t step) {
  for (; step < schedule_.size(); ++step) {
    std::vector<double> weights = schedule_[step].weights;
    bool any = false;
    for (size_t i = 0; i < weights.size(); ++i) {
      if (out_[i]) weights[i] = 0;
      any = any || weights[i] > 0;
    }
    if (any) return FairTurns(shares_of(weights), seed_, static_cast<uint32_t>(pieces_.size()));
  }
  return std::nullopt;
}

// REQUIRES: no piece begins later.
void Mixture::begin_piece(uint64_t position) {
  std::vector<uint64_t> before(out_.size());
  if (!pieces_.empty()) {
    const Piece& last = pieces_.back();
    before = last.before;
    for (uint32_t i = 0; last.turns && i < before.size(); ++i)
      before[i] += last.turns->taken(i, position - last.first);
    if (last.first == position) pieces_.pop_back();
  }
  const auto next = std::upper_bound(schedule_.begin(), schedule_.end(), position,
                                     [](uint64_t p, const MixWeights& step) { return p < step.from; });
  auto turns = turns_from(static_cast<size_t>(next - schedule_.begin()) - 1);
  pieces_.push_back({position, std::move(before), std::move(turns)});
}

void Mixture::leave_out(uint32_t source, uint64_t position) {
  out_[source] = true;
  while (pieces_.back().first > position) pieces_.pop_back();
  begin_piece(position);
  for (const MixWeights& step : schedule_)
    if (step.from > position && pieces_.back().turns) begin_piece(step.from);
}

const Mixture::Piece& Mixture::piece_of(uint64_t position) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), position,
                                      [](uint64_t p, const Piece& piece) { return p < piece.first; });
  return *(after - 1);
}

uint64_t Mixture::position_of(uint32_t source, uint64_t index) const {
  for (size_t i = 0; i < pieces_.size() && pieces_[i].turns; ++i) {
    if (i + 1 < pieces_.size() && pieces_[i + 1].before[source] <= index) continue;
    const uint64_t within = pieces_[i].turns->position_of(source, index - pieces_[i].before[source]);
    return within == kEndless ? kEndless : pieces_[i].first + within;
  }
  return kEndless;
}

uint64_t Mixture::settle(MixStop stop, std::span<const uint64_t> sizes) {
  const auto end_of = [&](uint32_t i) { return sizes[i] == kEndless ? kEndless : position_of(i, sizes[i]); };
  const auto first_end = [&] {
    std::pair<uint64_t, uint32_t> first{kEndless, 0};
    for (uint32_t i = 0; i < sizes.size(); ++i)
      if (!out_[i]) first = std::min(first, {end_of(i), i});
    return first;
  };
  if (stop == MixStop::first_exhausted) return first_end().first;
  if (stop == MixStop::cycle) {
    uint64_t last = 0;
    for (uint32_t i = 0; i < sizes.size(); ++i)
      if (is_lasting(i)) last = std::max(last, end_of(i));
    return last;
  }
  while (pieces_.back().turns) {
    const auto [position, source] = first_end();
    if (position == kEndless) return kEndless;
    leave_out(source, position);
  }
  return pieces_.back().first;
}

}  // namespace headrace
