#include <cstring>

#include "headrace/formats/arrays/arrays.h"
#include "headrace/formats/format.h"

namespace headrace {
namespace {

struct Progression {
  int64_t start = 0, stop = 0, step = 1;
  uint64_t size = 0;
  bool endless = false;  // then there is no stop
  // Wraps in unsigned arithmetic and lands inside: every sample lies between start and stop, if there is one.
  int64_t at(uint64_t row) const {
    return static_cast<int64_t>(static_cast<uint64_t>(start) + row * static_cast<uint64_t>(step));
  }
};

class RangeBlock final : public Block {
 public:
  explicit RangeBlock(Progression range) : range_(range) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= range_.size)
      return invalid("range: wants a row below " + std::to_string(range_.size) + ", got " +
                     std::to_string(row));
    fields.assign(1, scalar(range_.at(row)));
    return {};
  }
  bool gather(std::span<const uint64_t> rows, int, std::byte* out) const override {
    for (const uint64_t row : rows) {
      const int64_t value = range_.at(row);
      std::memcpy(out, &value, sizeof value);
      out += sizeof value;
    }
    return true;
  }

 private:
  Progression range_;
};

class RangeSource final : public Source {
 public:
  explicit RangeSource(Progression range)
      : range_(range),
        schema_{{"value"}, {{DType::i64, {}}}, "0"},
        block_(std::make_shared<RangeBlock>(range)) {}

  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return range_.size; }
  Place place(uint64_t index) const override { return {0, index}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t) const override { return ready(block_); }
  std::string where(uint64_t index) const override {
    return "range value " + std::to_string(range_.at(index));
  }
  bool resident() const override { return true; }
  std::string fingerprint() const override { return hash_text(describe().dump()); }
  Value describe() const override {
    Value out;
    out.set("format", range_.endless ? "counter" : "range");
    out.set("start", range_.start);
    if (!range_.endless) out.set("stop", range_.stop);
    out.set("step", range_.step);
    return out;
  }

 private:
  Progression range_;
  Schema schema_;
  BlockPtr block_;
};

Result<SourcePtr> make(const Value& options) {
  HEADRACE_ASSIGN(const int64_t start, options.get_integer("start"));
  HEADRACE_ASSIGN(const int64_t stop, options.get_integer("stop"));
  HEADRACE_ASSIGN(const int64_t step, options.get_integer("step"));
  return range_source(start, stop, step);
}

const FormatRegistration registered({
    .name = "range",
    .doc = "The integers of a range, one a sample.",
    .options = {{"start", "int", "The first value.", 0},
                {"stop", "int", "The value to stop before.", Value()},
                {"step", "int", "From one value to the next; may be negative.", 1}},
    .make = make,
});

Result<SourcePtr> make_counter(const Value& options) {
  HEADRACE_ASSIGN(const int64_t start, options.get_integer("start"));
  HEADRACE_ASSIGN(const int64_t step, options.get_integer("step"));
  return counter_source(start, step);
}

const FormatRegistration counter({
    .name = "counter",
    .doc = "The integers from a start on, one a sample, without end.",
    .options = {{"start", "int", "The first value.", 0},
                {"step", "int", "From one value to the next; may be negative.", 1}},
    .make = make_counter,
});

}  // namespace

SourcePtr counter_source(int64_t start, int64_t step) {
  return std::make_shared<RangeSource>(Progression{start, 0, step, ~uint64_t{0}, true});
}

Result<SourcePtr> range_source(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) return invalid("range: wants a step other than 0");
  const bool up = step > 0;
  const auto from = static_cast<uint64_t>(up ? start : stop), to = static_cast<uint64_t>(up ? stop : start);
  const uint64_t stride = up ? static_cast<uint64_t>(step) : ~static_cast<uint64_t>(step) + 1;
  const bool empty = up ? start >= stop : start <= stop;
  const uint64_t size = empty ? 0 : (to - from - 1) / stride + 1;
  return SourcePtr(std::make_shared<RangeSource>(Progression{start, stop, step, size, false}));
}

}  // namespace headrace
