#include "headrace/run/streams/shard_assignment.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "headrace/run/streams/state_form.h"

namespace headrace {
namespace {

using Counts = std::vector<uint64_t>;  // inputs taken by each rank of a world

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
    if (counts.empty()) cursor.refuse();
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
    form.number("taken");
    form.number("taken_before");
    form.list("worlds", 0, true, [](StateForm& world) { world.numbers("taken"); });
    form.list("partial", 0, true, [](StateForm& one) {
      one.number("position");
      one.number("outputs");
    });
  }
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

Result<Counts> numbers_of(const Value& value) {
  Counts out;
  if (!value.list())
    return invalid("'dealt' must contain lists of numbers, got " + value.dump()).in_op("state");
  for (const Value& v : *value.list()) {
    if (!v.integer() || *v.integer() < 0)
      return invalid("'dealt' must contain numbers of at least 0, got " + v.dump()).in_op("state");
    out.push_back(static_cast<uint64_t>(*v.integer()));
  }
  return out;
}

Result<std::vector<Counts>> lists_of(const Value& state, std::string_view key) {
  std::vector<Counts> out;
  const Value* value = state.find(key);
  if (!value) return out;
  if (!value->list())
    return invalid("'" + std::string(key) + "' must be a list, got " + value->dump()).in_op("state");
  for (const Value& v : *value->list()) {
    HEADRACE_ASSIGN(Counts counts, numbers_of(v));
    out.push_back(std::move(counts));
  }
  return out;
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
  AssignmentPlace out;
  HEADRACE_ASSIGN(out.deal.taken, lists_of(value, "before"));
  for (const Counts& counts : out.deal.taken)
    if (counts.empty()) return invalid("'before' must have the counts of at least one rank").in_op("state");
  HEADRACE_ASSIGN(const std::vector<Counts> pairs, lists_of(value, "partial"));
  for (const Counts& pair : pairs) {
    if (pair.size() != 2) return invalid("'partial' must contain pairs").in_op("state");
    out.deal.partial.emplace_back(pair[0], pair[1]);
  }
  std::sort(out.deal.partial.begin(), out.deal.partial.end());
  const auto read = [&](const char* key, uint64_t& member) -> Status {
    if (!value.find(key)) return {};
    HEADRACE_ASSIGN(const int64_t number, value.get_integer(key));
    if (number < 0) return invalid("'" + std::string(key) + "' must be at least 0").in_op("state");
    member = static_cast<uint64_t>(number);
    return {};
  };
  HEADRACE_TRY(read("round", out.round.number));
  HEADRACE_TRY(read("taken", out.round.number > 0 ? out.taken : out.round.taken));
  HEADRACE_TRY(read("again", out.round.taken));
  HEADRACE_TRY(read("outputs", out.round.outputs));
  return out;
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
