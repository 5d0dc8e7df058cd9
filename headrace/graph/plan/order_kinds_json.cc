#include "headrace/graph/plan/order_kinds_json.h"

#include <algorithm>
#include <limits>

#include "headrace/graph/plan/plan_values.h"

namespace headrace {
namespace {

Result<MixStop> stop_from(const Value& v, std::string_view verb) {
  HEADRACE_ASSIGN(const std::string stop, v.get_text("stop"));
  for (size_t i = 0; i < std::size(kStops); ++i)
    if (stop == kStops[i]) return static_cast<MixStop>(i);
  return invalid("plan: " + std::string(verb) +
                 ": stop must be one of first_exhausted, all_exhausted, cycle, got '" + stop + "'");
}

Result<Kind> mix_from(const Value& v) {
  Mix mix;
  const Value* schedule = v.find("schedule");
  if (!schedule || !schedule->list()) return invalid("plan: mix: 'schedule' must be a list");
  for (const Value& step : *schedule->list()) {
    MixWeights made;
    HEADRACE_ASSIGN(made.from, natural(step, "from"));
    const Value* weights = step.find("weights");
    if (!weights || !weights->list())
      return invalid("plan: mix: expected a list 'weights', got " + step.dump());
    for (const Value& weight : *weights->list()) {
      if (!weight.real() && !weight.integer())
        return invalid("plan: mix: weights must be numbers, got " + weight.dump());
      made.weights.push_back(weight.real() ? *weight.real() : static_cast<double>(*weight.integer()));
    }
    mix.schedule.push_back(std::move(made));
  }
  HEADRACE_ASSIGN(const int64_t seed, v.get_integer("seed"));
  mix.seed = static_cast<uint64_t>(seed);
  HEADRACE_ASSIGN(mix.stop, stop_from(v, "mix"));
  return Kind(std::move(mix));
}

Result<Kind> window_from(const Value& v) {
  Window window;
  HEADRACE_ASSIGN(window.size, natural(v, "size"));
  HEADRACE_ASSIGN(window.shift, natural(v, "shift"));
  HEADRACE_ASSIGN(window.stride, natural(v, "stride"));
  window.drop_last = v.is_true("drop_last"), window.ragged = v.is_true("ragged");
  return Kind(window);
}

Result<Kind> draw_from(const Value& v) {
  Draw draw;
  HEADRACE_ASSIGN(const int64_t seed, v.get_integer("seed"));
  draw.seed = static_cast<uint64_t>(seed), draw.replacement = v.is_true("replacement");
  if (v.find("num")) {
    HEADRACE_ASSIGN(draw.count, natural(v, "num"));
  }
  return Kind(std::move(draw));
}

}  // namespace

Result<std::optional<Kind>> order_kind_from(const std::string& verb, const Value& v) {
  const auto some = [](Result<Kind> kind) -> Result<std::optional<Kind>> {
    if (!kind.ok()) return kind.status();
    return std::optional<Kind>(*std::move(kind));
  };
  if (verb == "concatenate") return std::optional<Kind>(Concatenate{});
  if (verb == "mix") return some(mix_from(v));
  if (verb == "window") return some(window_from(v));
  if (verb == "sample") return some(draw_from(v));
  if (verb == "sort_by") return std::optional<Kind>(SortBy{v.is_true("descending")});
  if (verb == "choose") {
    HEADRACE_ASSIGN(const MixStop stop, stop_from(v, verb));
    return std::optional<Kind>(Choose{stop});
  }
  if (verb != "zip") return std::optional<Kind>();
  Zip zip;
  HEADRACE_ASSIGN(zip.structure, v.get_text("structure"));
  if (v.find("ids")) {
    HEADRACE_ASSIGN(const uint64_t ids, natural(v, "ids"));
    zip.ids = static_cast<uint32_t>(std::min<uint64_t>(ids, std::numeric_limits<uint32_t>::max()));
  }
  return std::optional<Kind>(std::move(zip));
}

}  // namespace headrace
