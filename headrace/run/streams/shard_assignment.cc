#include "headrace/run/streams/shard_assignment.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "headrace/run/streams/state_form.h"

namespace headrace {
namespace {

using Counts = std::vector<uint64_t>;  // inputs taken by each rank of a world

constexpr uint64_t kMostInputs = uint64_t{1} << 40;  // of a rank, where their number is not known: sums fit

// The number of inputs before `end` that such a world left.
uint64_t left_before(const Counts& counts, uint64_t end) {
  const uint64_t world = counts.size();
  uint64_t left = 0;
  for (uint64_t rank = 0; rank < world; ++rank) {
    const uint64_t dealt = end > rank ? (end - rank - 1) / world + 1 : 0;
    left += dealt - std::min(dealt, counts[rank]);
  }
  return left;
}

// The position of the `ordinal`-th remaining input.
uint64_t nth_left(const Counts& counts, uint64_t ordinal) {
  uint64_t low = ordinal, high = ordinal + std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (left_before(counts, middle + 1) > ordinal)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

void save_place(const AssignmentPlace& place, Cursor& cursor) {
  cursor.insert(cursor.end(), {place.round.taken, place.taken, place.deal.taken.size()});
  for (const Counts& counts : place.deal.taken) {
    cursor.push_back(counts.size());
    cursor.insert(cursor.end(), counts.begin(), counts.end());
  }
  cursor.push_back(place.deal.partial.size());
  for (const auto& [position, outputs] : place.deal.partial) cursor.insert(cursor.end(), {position, outputs});
}

AssignmentPlace restore_place(CursorReader& cursor) {
  AssignmentPlace place;
  place.round.taken = cursor.next(), place.taken = cursor.next();
  for (uint64_t worlds = cursor.next(); worlds > 0 && cursor.good(); --worlds) {
    Counts counts;
    for (uint64_t ranks = cursor.next(); ranks > 0 && cursor.good(); --ranks) counts.push_back(cursor.next());
    if (counts.empty()) cursor.refuse("shard", "worlds");
    place.deal.taken.push_back(std::move(counts));
  }
  for (uint64_t n = cursor.next(); n > 0 && cursor.good(); --n) {
    const uint64_t position = cursor.next();
    place.deal.partial.emplace_back(position, cursor.next());
  }
  return place;
}

class DealStream final : public Stream {
 public:
  DealStream(std::shared_ptr<const Level> level, uint64_t block, const Shard& shard)
      : level_(std::move(level)), block_(block), shard_(shard) {}

  Pull pull(Item& out, Status&, uint64_t) override {
    uint64_t& next = place_.round.taken;
    out.first = position(next), out.step = shard_.world;
    if (out.first >= level_->total) return Pull::end;
    out.count = 1, out.epoch = epoch_, out.occurrence = occurrence_, out.valid = valid_;
    out.handed_out = handed_out(out.first);
    while (out.count < block_ && out.handed_out == 0) {
      const uint64_t more = position(next + out.count);
      if (more != out.first + out.count * out.step || more >= level_->total || handed_out(more) > 0) break;
      ++out.count;
    }
    next += out.count;
    return Pull::item;
  }
  // The beginning of an epoch, or of a later round: then the assignment is complete, and all inputs are
  // taken.
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    if (occurrence == 0)
      place_ = {};
    else if (occurrence_ == 0)
      place_.taken = place_.round.taken;
    place_.round.taken = 0, epoch_ = epoch, occurrence_ = occurrence, valid_ = valid;
  }
  void save(Cursor& cursor) const override { save_place(place_, cursor); }
  void restore(CursorReader& cursor) override { place_ = restore_place(cursor); }
  void describe(StateForm& form) const override {
    form.stream("shard");
    const uint64_t most = std::min(level_->total, kMostInputs);
    form.number("taken", most);
    form.number("taken_before", most);
    form.list("worlds", 0, true, [&](StateForm& world) { world.numbers("taken", most); });
    uint64_t next = 0;
    form.list("partial", 0, true, [&](StateForm& one) {
      next = one.number("position", level_->total, next) + 1;
      one.number("outputs");
    });
  }
  uint64_t most_elements() const override { return level_->total; }
  void stages(std::vector<Stage*>&) override {}

 private:
  uint64_t position(uint64_t nth) const {
    const uint64_t ordinal = nth * shard_.world + shard_.rank;
    return occurrence_ == 0 ? place_.deal.position(ordinal) : ordinal;
  }
  uint64_t handed_out(uint64_t at) const { return occurrence_ == 0 ? place_.deal.handed_out(at) : 0; }

  std::shared_ptr<const Level> level_;
  uint64_t block_;
  Shard shard_;
  AssignmentPlace place_;
  uint64_t epoch_ = 0;
  uint32_t occurrence_ = 0;
  bool valid_ = true;
};

constexpr std::string_view kDealt = "dealt.";

Status wrong(const std::string& member, std::string expected, const Value* got) {
  return wrong_in_state(std::string(kDealt) + member, std::move(expected), got);
}

// A whole number of at least 0; others are refused.
Result<uint64_t> number_in(const Value& dealt, const std::string& member) {
  const Value* value = dealt.find(member);
  if (!value || !value->integer() || *value->integer() < 0)
    return wrong(member, range_text(kInfinite), value);
  return static_cast<uint64_t>(*value->integer());
}

Result<std::vector<Counts>> lists_in(const Value& dealt, const std::string& member, std::string_view each) {
  std::vector<Counts> out;
  const Value* value = dealt.find(member);
  if (!value) return out;
  const auto refused = [&] { return wrong(member, "a list, each " + std::string(each), value); };
  if (!value->list()) return refused();
  for (const Value& list : *value->list()) {
    if (!list.list() || list.list()->empty()) return refused();
    Counts& counts = out.emplace_back();
    for (const Value& number : *list.list()) {
      if (!number.integer() || *number.integer() < 0) return refused();
      counts.push_back(static_cast<uint64_t>(*number.integer()));
    }
  }
  return out;
}

// How many of `inputs` inputs a rank of such a world takes.
uint64_t share(uint64_t inputs, uint64_t rank, uint64_t world) {
  if (inputs == kInfinite) return kMostInputs;
  return inputs > rank ? (inputs - rank - 1) / world + 1 : 0;
}

}  // namespace

uint64_t ShardAssignment::position(uint64_t ordinal) const {
  for (auto counts = taken.rbegin(); counts != taken.rend(); ++counts) ordinal = nth_left(*counts, ordinal);
  return ordinal;
}

std::optional<uint64_t> ShardAssignment::ordinal(uint64_t position) const {
  for (const Counts& counts : taken) {
    const uint64_t left = left_before(counts, position);
    if (left_before(counts, position + 1) == left) return std::nullopt;
    position = left;
  }
  return position;
}

uint64_t ShardAssignment::handed_out(uint64_t position) const {
  const auto at = std::lower_bound(partial.begin(), partial.end(), std::pair(position, uint64_t{0}));
  return at != partial.end() && at->first == position ? at->second : 0;
}

StreamPtr assigned_stream(std::shared_ptr<const Level> level, uint64_t block, const Shard& shard) {
  return std::make_unique<DealStream>(std::move(level), block, shard);
}

void save_assignment(const AssignmentPlace& place, Cursor& cursor) {
  if (place.round.outputs > 0)
    cursor.insert(cursor.end(), {1, 0, place.round.outputs});
  else
    cursor.push_back(0);
  save_place(place, cursor);
}

AssignmentPlace restore_assignment(CursorReader& cursor) {
  uint64_t outputs = 0;
  for (uint64_t n = cursor.next(); n > 0 && cursor.good(); --n) {
    const uint64_t ticket = cursor.next(), emitted = cursor.next();
    if (ticket == 0) outputs = emitted;
  }
  AssignmentPlace place = restore_place(cursor);
  place.round.outputs = outputs;
  return place;
}

Value assignment_to_value(const AssignmentPlace& place) {
  Value out{Value::Object()};
  const auto lists = [&](std::string_view key, const auto& items, auto&& list) {
    if (items.empty()) return;
    Value::List all;
    for (const auto& item : items) all.emplace_back(list(item));
    out.set(key, std::move(all));
  };
  lists("before", place.deal.taken, [](const Counts& c) { return Value::List(c.begin(), c.end()); });
  lists("partial", place.deal.partial, [](const auto& p) { return Value::List{p.first, p.second}; });
  if (place.round.number > 0) out.set("taken", place.taken), out.set("round", place.round.number);
  out.set(place.round.number > 0 ? "again" : "taken", place.round.taken);
  if (place.round.outputs > 0) out.set("outputs", place.round.outputs);
  return out;
}

Result<AssignmentPlace> assignment_from_value(const Value& value) {
  if (!value.object())
    return invalid({.expected = "an object with 'taken'", .got = value.dump()})
        .in_option("dealt")
        .in_op("state");
  const bool again = value.find("round");
  constexpr std::string_view kMembers[] = {"before", "partial", "taken", "round", "again", "outputs"};
  for (const auto& [name, member] : *value.object())
    if (std::ranges::find(kMembers, name) == std::end(kMembers) || (name == "again" && !again))
      return wrong(name, "no such member", &member);
  AssignmentPlace out;
  HEADRACE_ASSIGN(out.deal.taken, lists_in(value, "before", "the numbers of at least one rank"));
  HEADRACE_ASSIGN(const std::vector<Counts> pairs, lists_in(value, "partial", "[position, outputs]"));
  for (const Counts& pair : pairs) {
    const bool ascends =
        pair.size() == 2 && (out.deal.partial.empty() || out.deal.partial.back().first < pair[0]);
    if (!ascends)
      return wrong("partial", "a list, each [position, outputs], of ascending positions",
                   value.find("partial"));
    out.deal.partial.emplace_back(pair[0], pair[1]);
  }
  HEADRACE_ASSIGN(const uint64_t taken, number_in(value, "taken"));
  (again ? out.taken : out.round.taken) = taken;
  if (again) {
    HEADRACE_ASSIGN(out.round.number, number_in(value, "round"));
    HEADRACE_ASSIGN(out.round.taken, number_in(value, "again"));
    if (out.round.number == 0) return wrong("round", "a whole number of at least 1", value.find("round"));
  }
  if (value.find("outputs")) {
    HEADRACE_ASSIGN(out.round.outputs, number_in(value, "outputs"));
  }
  return out;
}

Status check_assignment(const AssignmentPlace& place, uint64_t inputs, const Shard& shard) {
  const auto beyond = [](const std::string& member, uint64_t most, uint64_t got) {
    const Value number(got);
    return wrong(member, "at most " + std::to_string(most) + ", the inputs of that rank", &number);
  };
  uint64_t left = inputs;  // by the worlds so far
  for (const Counts& counts : place.deal.taken) {
    uint64_t taken = 0;
    for (uint64_t rank = 0; rank < counts.size(); ++rank) {
      const uint64_t most = share(left, rank, counts.size());
      if (counts[rank] > most) return beyond("before", most, counts[rank]);
      taken += counts[rank];
    }
    if (left != kInfinite) left -= taken;
  }
  for (const auto& [position, outputs] : place.deal.partial)
    if (position >= inputs) return beyond("partial", inputs, position);
  const uint64_t most = share(left, shard.rank, shard.world), whole = share(inputs, shard.rank, shard.world);
  const bool again = place.round.number > 0;
  const uint64_t first = again ? place.taken : place.round.taken;
  if (first > most) return beyond("taken", most, first);
  if (again && place.round.taken > whole) return beyond("again", whole, place.round.taken);
  return {};
}

ShardAssignment merge_assignments(std::span<const AssignmentPlace> ranks) {
  ShardAssignment out = ranks.front().deal;
  Counts taken;
  std::map<uint64_t, uint64_t> partial(out.partial.begin(), out.partial.end());
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const AssignmentPlace& place = ranks[rank];
    taken.push_back(place.round.number > 0 ? place.taken : place.round.taken);
    if (place.round.number == 0 && place.round.outputs > 0)
      partial[out.position(taken.back() * ranks.size() + rank)] = place.round.outputs;
  }
  out.taken.push_back(std::move(taken));
  std::erase_if(partial, [&](const auto& input) { return !out.ordinal(input.first); });
  out.partial.assign(partial.begin(), partial.end());
  return out;
}

}  // namespace headrace
