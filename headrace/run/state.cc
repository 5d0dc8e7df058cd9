#include "headrace/run/state.h"

#include <limits>

namespace headrace {
namespace {
constexpr int64_t kVersion = 1;

std::string half(const std::string& fingerprint, bool data) {
  const size_t dash = fingerprint.find('-');
  return data ? fingerprint.substr(dash == std::string::npos ? 0 : dash) : fingerprint.substr(0, dash);
}
}  // namespace

Value state_to_value(const Where& where, const std::string& fingerprint) {
  Value out{Value::Object()};
  out.set("version", kVersion);
  out.set("fingerprint", fingerprint);
  out.set("epoch", where.epoch);
  if (where.finished) {
    out.set("finished", true);
  } else if (where.elastic) {
    out.set("consumed", where.consumed);
  } else {
    Value::List cursor;
    for (uint64_t v : where.cursor) cursor.emplace_back(v);
    out.set("delivered", where.delivered);
    out.set("cursor", std::move(cursor));
    if (where.rank) out.set("rank", *where.rank);
    if (where.world) out.set("world", *where.world);
  }
  return out;
}

Result<Where> state_from_value(const Value& state, const std::string& fingerprint) {
  if (state.find("plan"))
    return invalid(
        "state: wants what state_dict() gave, got a plan; hr.load_plan() or `headrace run` open it");
  if (!state.find("version") || !state.find("fingerprint"))
    return invalid("state: wants what state_dict() gave, got something without 'version' and 'fingerprint'");
  HEADRACE_ASSIGN(const int64_t version, state.get_integer("version"));
  if (version != kVersion) return invalid("state: wants version 1, got " + std::to_string(version));
  HEADRACE_ASSIGN(const std::string theirs, state.get_text("fingerprint"));
  if (half(theirs, false) != half(fingerprint, false))
    return invalid(
        "state: was taken from another plan (verbs, operators, their parameters or seeds differ): "
        "fingerprint " +
        theirs + ", this plan's is " + fingerprint);
  if (theirs != fingerprint)
    return invalid(
        "state: the data changed since it was taken (file names, labels, counts or contents differ): "
        "fingerprint " +
        theirs + ", this data's is " + fingerprint);
  HEADRACE_ASSIGN(const int64_t epoch, state.get_integer("epoch"));
  if (epoch < 0) return invalid("state: 'epoch' wants at least 0, got " + std::to_string(epoch));
  Where out;
  out.epoch = static_cast<uint64_t>(epoch);
  const Value* finished = state.find("finished");
  out.finished = finished && finished->boolean() && *finished->boolean();
  if (out.finished) return out;
  if (const Value* cursor = state.find("cursor")) {
    out.elastic = false;
    if (!cursor->list()) return invalid("state: 'cursor' wants a list of numbers");
    for (const Value& v : *cursor->list()) {
      if (!v.integer()) return invalid("state: 'cursor' wants numbers, got " + v.dump());
      out.cursor.push_back(static_cast<uint64_t>(*v.integer()));
    }
    HEADRACE_ASSIGN(const int64_t delivered, state.get_integer("delivered"));
    if (delivered < 0)
      return invalid("state: 'delivered' wants at least 0, got " + std::to_string(delivered));
    out.delivered = static_cast<uint64_t>(delivered);
    for (const auto& [key, member] : {std::pair("rank", &out.rank), std::pair("world", &out.world)}) {
      if (!state.find(key)) continue;
      HEADRACE_ASSIGN(const int64_t value, state.get_integer(key));
      if (value < 0 || value > std::numeric_limits<uint32_t>::max())
        return invalid("state: '" + std::string(key) + "' wants a number of 32 bits, got " +
                       std::to_string(value));
      *member = static_cast<uint32_t>(value);
    }
    return out;
  }
  HEADRACE_ASSIGN(const int64_t consumed, state.get_integer("consumed"));
  if (consumed < 0) return invalid("state: 'consumed' wants at least 0, got " + std::to_string(consumed));
  out.consumed = static_cast<uint64_t>(consumed);
  return out;
}

}  // namespace headrace
