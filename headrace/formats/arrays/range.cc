#include <cstring>

#include "headrace/formats/arrays/arrays.h"
#include "headrace/formats/arrays/computed.h"

namespace headrace {
namespace {

struct Progression {
  int64_t start = 0, stop = 0, step = 1;
  uint64_t size = 0;
  bool endless = false;  // then `stop` is not used
  // Unsigned arithmetic wraps, but the result is right: every sample is between start and stop, if there is
  // one.
  int64_t at(uint64_t row) const {
    return static_cast<int64_t>(static_cast<uint64_t>(start) + row * static_cast<uint64_t>(step));
  }

  Shape shape() const { return {}; }
  void write(uint64_t row, std::byte* out) const {
    const int64_t value = at(row);
    std::memcpy(out, &value, sizeof value);
  }
  SamplePlace where(uint64_t row) const { return {"", "range value " + std::to_string(at(row))}; }
  Value describe() const {
    Value out;
    out.set("format", endless ? "counter" : "range");
    out.set("start", start);
    if (!endless) out.set("stop", stop);
    out.set("step", step);
    return out;
  }
};
using RangeSource = ComputedSource<Progression>;

Result<SourcePtr> make_range(const Value& options) {
  HEADRACE_ASSIGN(const int64_t start, options.get_integer("start"));
  HEADRACE_ASSIGN(const int64_t stop, options.get_integer("stop"));
  HEADRACE_ASSIGN(const int64_t step, options.get_integer("step"));
  return range_source(start, stop, step);
}

const FormatRegistration registered_range({
    .name = "range",
    .doc = "The integers of a range, one per sample.",
    .options = {{"start", "int", "The first value.", 0},
                {"stop", "int", "The value to stop before.", Value()},
                {"step", "int", "Difference of successive values; may be negative.", 1}},
    .make = make_range,
});

Result<SourcePtr> make_counter(const Value& options) {
  HEADRACE_ASSIGN(const int64_t start, options.get_integer("start"));
  HEADRACE_ASSIGN(const int64_t step, options.get_integer("step"));
  return counter_source(start, step);
}

const FormatRegistration counter({
    .name = "counter",
    .doc = "The integers from a start on, one per sample, without end.",
    .options = {{"start", "int", "The first value.", 0},
                {"step", "int", "Difference of successive values; may be negative.", 1}},
    .make = make_counter,
});

}  // namespace

SourcePtr counter_source(int64_t start, int64_t step) {
  return std::make_shared<RangeSource>(Progression{start, 0, step, ~uint64_t{0}, true});
}

Result<SourcePtr> range_source(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) return invalid("range: expected a step other than 0");
  const bool up = step > 0;
  const auto from = static_cast<uint64_t>(up ? start : stop), to = static_cast<uint64_t>(up ? stop : start);
  const uint64_t stride = up ? static_cast<uint64_t>(step) : ~static_cast<uint64_t>(step) + 1;
  const bool empty = up ? start >= stop : start <= stop;
  const uint64_t size = empty ? 0 : (to - from - 1) / stride + 1;
  return SourcePtr(std::make_shared<RangeSource>(Progression{start, stop, step, size, false}));
}

}  // namespace headrace
