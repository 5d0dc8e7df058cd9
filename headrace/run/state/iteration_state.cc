#include "headrace/run/state/iteration_state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "headrace/run/streams/state_form.h"

namespace headrace {
namespace {
constexpr int64_t kVersion = 2;  // 1 had "cursor", a list of numbers, in the place of "streams"

std::string half(const std::string& fingerprint, bool data) {
  const size_t dash = fingerprint.find('-');
  return data ? fingerprint.substr(dash == std::string::npos ? 0 : dash) : fingerprint.substr(0, dash);
}
}  // namespace

namespace {

// With the members of each object in order: others may have sorted them.
Value sorted(const Value& value) {
  if (const auto* list = value.list()) {
    Value::List out;
    for (const Value& item : *list) out.push_back(sorted(item));
    return out;
  }
  if (!value.object()) return value;
  Value::Object out;
  for (const auto& [name, item] : *value.object()) out.emplace_back(name, sorted(item));
  std::ranges::sort(out, {}, [](const auto& member) { return member.first; });
  return out;
}

// Without the fingerprint, which is compared itself, and what `headrace run` adds.
std::string sum_of(const Value& state) {
  Value::Object counted;
  for (const auto& member : *state.object())
    if (member.first != "check" && member.first != "fingerprint" && member.first != "so_far")
      counted.push_back(member);
  return hash_text(sorted(counted).dump()).substr(0, 16);
}

Value named(const Cursor& cursor, const Stream& root) {
  CursorReader numbers(cursor);
  StateForm form(numbers);
  root.describe(form);
  return std::move(form.named());
}

Result<Cursor> cursor_from(const Value& named, const Stream& root) {
  Cursor out;
  StateForm form(named, out);
  root.describe(form);
  form.finish();
  HEADRACE_TRY(form.status());
  return out;
}

}  // namespace

Value state_to_value(const IterationState& where, const std::string& fingerprint, const Stream* root) {
  const bool has_cursor = !where.finished && !where.elastic && !where.cursor.empty();
  Value out{Value::Object()};
  out.set("version", has_cursor ? kVersion : 1);  // without streams the two are the same
  out.set("fingerprint", fingerprint);
  out.set("epoch", where.epoch);
  if (where.finished) {
    out.set("finished", true);
  } else if (where.elastic) {
    out.set("consumed", where.consumed);
  } else {
    out.set("delivered", where.delivered);
    if (where.round > 0) out.set("round", where.round);
    if (where.dealt) out.set("dealt", assignment_to_value(*where.dealt));
    if (has_cursor) out.set("streams", named(where.cursor, *root));
  }
  if (where.finished) return out;
  if (where.rank) out.set("rank", *where.rank);
  if (where.world) out.set("world", *where.world);
  if (!where.order.empty()) out.set("order", where.order);
  if (!where.bound_by.empty()) out.set("bound_by", where.bound_by);
  if (!where.elastic) out.set("check", sum_of(out));
  return out;
}

namespace {

Status read_number(const Value& state, std::string_view key, uint64_t most, std::optional<uint64_t>& out) {
  const Value* value = state.find(key);
  if (!value) return {};
  const int64_t* number = value->integer();
  if (!number || *number < 0 || static_cast<uint64_t>(*number) > most)
    return wrong_in_state(key, range_text(most), value);
  out = static_cast<uint64_t>(*number);
  return {};
}

Status read_rank(const Value& state, std::string_view key, std::optional<uint32_t>& out) {
  std::optional<uint64_t> number;
  HEADRACE_TRY(read_number(state, key, std::numeric_limits<uint32_t>::max(), number));
  if (number) out = static_cast<uint32_t>(*number);
  return {};
}

Status read_cursor(const Value& state, Cursor& out) {
  const Value* cursor = state.find("cursor");
  if (!cursor) return {};
  if (!cursor->list()) return wrong_in_state("cursor", "a list of whole numbers", cursor);
  for (const Value& v : *cursor->list()) {
    if (!v.integer()) return wrong_in_state("cursor", "a list of whole numbers", &v);
    out.push_back(static_cast<uint64_t>(*v.integer()));
  }
  return {};
}

// The members of a state of that version; others are errors. `so_far` is of `headrace run`.
Status check_names(const Value& state, int64_t version) {
  constexpr std::string_view kOfBoth[] = {"version",   "fingerprint", "epoch", "finished", "consumed",
                                          "delivered", "round",       "dealt", "rank",     "world",
                                          "bound_by",  "so_far",      "check", "order"};
  const std::string_view place = version == 1 ? "cursor" : "streams";
  for (const auto& [name, value] : *state.object())
    if (std::ranges::find(kOfBoth, name) == std::end(kOfBoth) && name != place)
      return wrong_in_state(name, "no such member in version " + std::to_string(version), &value);
  const auto not_with = [&](std::string_view one, std::string_view other) -> Status {
    if (!state.find(one) || !state.find(other)) return {};
    return wrong_in_state(one, "no such member beside '" + std::string(other) + "'", state.find(one));
  };
  HEADRACE_TRY(not_with("consumed", "delivered"));
  HEADRACE_TRY(not_with("dealt", place));
  for (const std::string_view name : {"round", "dealt", "cursor", "streams"})
    HEADRACE_TRY(not_with(name, "consumed"));
  return {};
}

}  // namespace

Result<IterationState> read_state(const Value& state) {
  if (!state.object())
    return invalid({.expected = "the output of state_dict()", .got = state.dump()}).in_op("state");
  if (state.find("plan"))
    return invalid({.expected = "the output of state_dict()",
                    .got = "a plan",
                    .fix = "open it with hr.load_plan() or `headrace run`"})
        .in_op("state");
  if (!state.find("version") || !state.find("fingerprint"))
    return invalid({.expected = "the output of state_dict()",
                    .got = "a value without 'version' and 'fingerprint'"})
        .in_op("state");
  const Value& number = *state.find("version");
  if (!number.integer() || *number.integer() < 1)
    return wrong_in_state("version", "a number from 1", &number);
  const int64_t version = *number.integer();
  if (version > kVersion)
    return invalid("its version, " + std::to_string(version) +
                   ", is newer than this version of Headrace reads (" + std::to_string(kVersion) + ")")
        .in_op("state");
  const Value& fingerprint = *state.find("fingerprint");
  if (!fingerprint.text()) return wrong_in_state("fingerprint", "a string", &fingerprint);
  HEADRACE_TRY(check_names(state, version));
  IterationState out;
  std::optional<uint64_t> epoch, consumed, delivered, round;
  HEADRACE_TRY(read_number(state, "epoch", kInfinite, epoch));
  HEADRACE_TRY(read_number(state, "consumed", kInfinite, consumed));
  HEADRACE_TRY(read_number(state, "delivered", kInfinite, delivered));
  HEADRACE_TRY(read_number(state, "round", delivered.value_or(kInfinite), round));
  if (!epoch) return wrong_in_state("epoch", range_text(kInfinite), nullptr);
  out.epoch = *epoch;
  if (const Value* finished = state.find("finished")) {
    if (!finished->boolean()) return wrong_in_state("finished", "true or false", finished);
    out.finished = *finished->boolean();
  }
  if (out.finished) return out;
  if (!consumed && !delivered)
    return invalid({.expected = "'consumed' or 'delivered'", .got = "neither: it is missing"}).in_op("state");
  out.elastic = !delivered;
  out.consumed = consumed.value_or(0), out.delivered = delivered.value_or(0), out.round = round.value_or(0);
  HEADRACE_TRY(read_rank(state, "rank", out.rank));
  HEADRACE_TRY(read_rank(state, "world", out.world));
  if (out.rank && out.world && *out.rank >= *out.world)
    return wrong_in_state("rank", "a rank below 'world', " + std::to_string(*out.world), state.find("rank"));
  HEADRACE_TRY(read_cursor(state, out.cursor));
  if (const Value* streams = state.find("streams")) {
    if (!streams->object()) return wrong_in_state("streams", "the state of the last verb", streams);
    out.streams = *streams;
  }
  if (const Value* dealt = state.find("dealt")) {
    HEADRACE_ASSIGN(out.dealt, assignment_from_value(*dealt));
    if (out.dealt->round.number != out.round)
      return wrong_in_state("dealt.round", "'round', " + std::to_string(out.round), dealt->find("round"));
  }
  if (const Value* order = state.find("order")) {
    if (!order->text()) return wrong_in_state("order", "a hash", order);
    out.order = *order->text();
  }
  if (const Value* bound_by = state.find("bound_by")) {
    if (!bound_by->text()) return wrong_in_state("bound_by", "the name of a verb", bound_by);
    out.bound_by = *bound_by->text();
  }
  return out;
}

Status check_sum(const Value& state) {
  const Value* sum = state.find("check");
  if (!sum || *sum == Value(sum_of(state))) return {};
  return invalid({.expected = sum_of(state) + ", the sum of its members",
                  .got = sum->dump(),
                  .fix = "was it changed by hand?"})
      .in_option("check")
      .in_op("state");
}

Result<IterationState> state_from_value(const Value& state, const std::string& fingerprint,
                                        const Stream& root) {
  HEADRACE_ASSIGN(IterationState where, read_state(state));
  const std::string& theirs = *state.find("fingerprint")->text();
  if (half(theirs, false) != half(fingerprint, false))
    return invalid(
               "was taken from another plan (verbs, operators, their parameters or seeds differ): "
               "its fingerprint is " +
               theirs + ", this plan's is " + fingerprint)
        .in_op("state");
  if (theirs != fingerprint)
    return invalid(
               "the data changed since it was taken (file names, labels, counts or contents differ): "
               "its fingerprint is " +
               theirs + ", this data's is " + fingerprint)
        .in_op("state");
  if (!where.cursor.empty()) {  // of version 1: its numbers are checked by their names, too
    CursorReader numbers(where.cursor);
    StateForm form(numbers);
    root.describe(form);
    HEADRACE_TRY(numbers.status());
    where.streams = std::move(form.named());
  }
  if (where.streams) {
    HEADRACE_ASSIGN(where.cursor, cursor_from(*where.streams, root));
    where.streams.reset();
  }
  return where;
}

}  // namespace headrace
