#include "headrace/run/state/iteration_state.h"

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
    if (where.rank) out.set("rank", *where.rank);
    if (where.world) out.set("world", *where.world);
    if (!where.bound_by.empty()) out.set("bound_by", where.bound_by);
  }
  return out;
}

namespace {

Status read_number(const Value& state, const char* key, std::optional<uint64_t>& out) {
  if (!state.find(key)) return {};
  HEADRACE_ASSIGN(const int64_t number, state.get_integer(key));
  if (number < 0)
    return invalid("'" + std::string(key) + "' must be at least 0, got " + std::to_string(number))
        .in_op("state");
  out = static_cast<uint64_t>(number);
  return {};
}

Status read_rank(const Value& state, const char* key, std::optional<uint32_t>& out) {
  if (!state.find(key)) return {};
  HEADRACE_ASSIGN(const int64_t number, state.get_integer(key));
  if (number < 0 || number > std::numeric_limits<uint32_t>::max())
    return invalid("'" + std::string(key) + "' must be a 32-bit number, got " + std::to_string(number))
        .in_op("state");
  out = static_cast<uint32_t>(number);
  return {};
}

Status read_cursor(const Value& state, Cursor& out) {
  const Value* cursor = state.find("cursor");
  if (!cursor) return {};
  if (!cursor->list()) return invalid("'cursor' must be a list of numbers").in_op("state");
  for (const Value& v : *cursor->list()) {
    if (!v.integer()) return invalid("'cursor' must contain numbers, got " + v.dump()).in_op("state");
    out.push_back(static_cast<uint64_t>(*v.integer()));
  }
  return {};
}

}  // namespace

Result<IterationState> read_state(const Value& state) {
  if (state.find("plan"))
    return invalid({.expected = "the output of state_dict()",
                    .got = "a plan",
                    .fix = "open it with hr.load_plan() or `headrace run`"})
        .in_op("state");
  if (!state.find("version") || !state.find("fingerprint"))
    return invalid({.expected = "the output of state_dict()",
                    .got = "a value without 'version' and 'fingerprint'"})
        .in_op("state");
  HEADRACE_ASSIGN(const int64_t version, state.get_integer("version"));
  if (version < 1)
    return invalid("'version' must be a number from 1, got " + std::to_string(version)).in_op("state");
  if (version > kVersion)
    return invalid("its version, " + std::to_string(version) +
                   ", is newer than this version of Headrace reads (" + std::to_string(kVersion) + ")")
        .in_op("state");
  IterationState out;
  std::optional<uint64_t> epoch, consumed, delivered, round;
  HEADRACE_TRY(read_number(state, "epoch", epoch));
  HEADRACE_TRY(read_number(state, "consumed", consumed));
  HEADRACE_TRY(read_number(state, "delivered", delivered));
  HEADRACE_TRY(read_number(state, "round", round));
  if (!epoch) return invalid({.expected = "'epoch'", .got = state.dump()}).in_op("state");
  out.epoch = *epoch;
  out.finished = state.is_true("finished");
  if (out.finished) return out;
  if (!consumed && !delivered)
    return invalid({.expected = "'consumed' or 'delivered'", .got = state.dump()}).in_op("state");
  out.elastic = !delivered;
  out.consumed = consumed.value_or(0), out.delivered = delivered.value_or(0), out.round = round.value_or(0);
  HEADRACE_TRY(read_rank(state, "rank", out.rank));
  HEADRACE_TRY(read_rank(state, "world", out.world));
  HEADRACE_TRY(read_cursor(state, out.cursor));
  if (const Value* streams = state.find("streams")) out.streams = *streams;
  if (const Value* dealt = state.find("dealt")) {
    HEADRACE_ASSIGN(out.dealt, assignment_from_value(*dealt));
  }
  if (const Value* bound_by = state.find("bound_by"); bound_by && bound_by->text())
    out.bound_by = *bound_by->text();
  return out;
}

Result<IterationState> state_from_value(const Value& state, const std::string& fingerprint,
                                        const Stream& root) {
  HEADRACE_ASSIGN(IterationState where, read_state(state));
  HEADRACE_ASSIGN(const std::string theirs, state.get_text("fingerprint"));
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
  if (where.streams) {
    HEADRACE_ASSIGN(where.cursor, cursor_from(*where.streams, root));
    where.streams.reset();
  }
  return where;
}

}  // namespace headrace
