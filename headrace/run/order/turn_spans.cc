#include "headrace/run/order/turn_spans.h"

#include <algorithm>

#include "headrace/core/saturate.h"
#include "headrace/graph/verb_options.h"

namespace headrace {

// Simulates the slots from the first element to the last. tests/model/stream.py does so element by element.
class TurnSpans::Simulation {
 public:
  Simulation(std::vector<uint64_t> totals, uint64_t cycle, uint64_t block)
      : totals_(std::move(totals)), block_(block), slots_(std::min<uint64_t>(cycle, totals_.size())) {}

  std::vector<Span> all() {
    while (next_ < totals_.size() || std::ranges::any_of(slots_, &Slot::open)) {
      if (!whole_rounds()) break;
      for (Slot& slot : slots_) one_turn(slot);
    }
    return std::move(spans_);
  }

 private:
  struct Slot {
    bool open = false;
    uint32_t child = 0;
    uint64_t taken = 0;
  };

  uint64_t left(const Slot& slot) const {
    const uint64_t total = totals_[slot.child];
    return total == kInfinite ? kInfinite : total - slot.taken;
  }
  void add(uint64_t block, std::vector<Turn> turns, uint64_t elements) {
    spans_.push_back({position_, block, std::move(turns)});
    position_ = saturating_add(position_, elements);
  }
  // As many rounds as all open slots can give in full; false if they are endless.
  bool whole_rounds() {
    uint64_t rounds = kInfinite;
    std::vector<Turn> turns;
    for (const Slot& slot : slots_) {
      if (!slot.open && next_ < totals_.size()) return true;  // one is about to be opened
      if (!slot.open) continue;
      if (left(slot) != kInfinite) rounds = std::min(rounds, left(slot) / block_);
      turns.push_back({slot.child, slot.taken});
    }
    if (turns.empty() || rounds == 0) return true;
    const uint64_t each = saturating_mul(rounds, block_);
    add(block_, turns, saturating_mul(each, turns.size()));
    for (Slot& slot : slots_) slot.taken += slot.open ? each : 0;
    return rounds != kInfinite;
  }
  void one_turn(Slot& slot) {
    if (!slot.open && next_ == totals_.size()) return;
    if (!slot.open) slot = {true, next_++, 0};
    const uint64_t count = std::min(left(slot), block_);
    if (count > 0) add(count, {{slot.child, slot.taken}}, count);
    slot.taken += count;
    slot.open = count == block_;
  }

  std::vector<uint64_t> totals_;
  uint64_t block_;
  std::vector<Slot> slots_;
  uint32_t next_ = 0;  // child to be opened
  uint64_t position_ = 0;
  std::vector<Span> spans_;
};

TurnSpans::TurnSpans(std::vector<uint64_t> totals, uint64_t cycle, uint64_t block)
    : spans_(Simulation(std::move(totals), cycle, block).all()) {}

TurnSpans::Place TurnSpans::at(uint64_t position) const {
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), position,
                                      [](uint64_t index, const Span& span) { return index < span.start; });
  const Span& span = *std::prev(after);
  const uint64_t offset = position - span.start, round = span.block * span.turns.size();
  const Turn& turn = span.turns[offset % round / span.block];
  return {turn.child, turn.first + offset / round * span.block + offset % span.block};
}

}  // namespace headrace
