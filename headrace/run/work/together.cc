#include "headrace/run/work/together.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "headrace/graph/passes/batched.h"
#include "headrace/run/work/body.h"

namespace headrace {
namespace {

// The columns of samples of this schema.
Schema columns_of(const Schema& schema) {
  Schema out = schema;
  for (TensorSpec& spec : out.specs) spec.shape = spec.shape.with_front(kAny);
  return out;
}

// The number of rows that all fields have; -1 if it differs or is unknown.
int64_t common_front(const Schema& schema) {
  int64_t out = -1;
  for (const TensorSpec& spec : schema.specs) {
    if (spec.shape.rank() == 0 || (out >= 0 && spec.shape[0] != out)) return -1;
    out = spec.shape[0];
  }
  return out;
}

// Replaces samples of `rows` rows each by their rows.
void unbatch(int64_t rows, Rows& all, std::vector<uint64_t>& ends) {
  auto names = std::make_shared<std::vector<SampleName>>();
  names->reserve(all.size() * static_cast<size_t>(rows));
  for (const SampleName& name : *all.names) name_rows(name, rows, *names);
  for (Tensor& column : all.columns) {
    const Shape row = column.shape.without_front().without_front();
    column.shape = row.with_front(static_cast<int64_t>(names->size()));
  }
  all.names = std::move(names);
  for (uint64_t& end : ends) end *= static_cast<uint64_t>(rows);
}

// The rows whose byte in `keep` is not zero.
Result<Tensor> kept_rows(const Tensor& column, std::span<const uint8_t> keep, size_t count,
                         Evaluator& evaluator) {
  const Shape row = column.shape.without_front();
  const size_t stride = row.size_bytes(column.dtype);
  HEADRACE_ASSIGN(Tensor out, evaluator.allocate({column.dtype, row.with_front(static_cast<int64_t>(count))},
                                                 Use::ragged));
  std::byte* to = const_cast<Buffer*>(out.buffer.get())->mutable_data();
  const std::byte* from = column.view().data;
  for (size_t i = 0; i < keep.size();) {
    size_t end = i;
    while (end < keep.size() && keep[end]) ++end;
    std::memcpy(to, from + i * stride, (end - i) * stride);
    to += (end - i) * stride;
    for (i = end; i < keep.size() && !keep[i];) ++i;
  }
  return out;
}

// Keeps the samples whose byte in `keep` is not zero; those beyond its end are dropped, and so are the ends
// of the samples they came from.
Status select(std::span<const uint8_t> keep, Rows& rows, std::vector<uint64_t>& ends, Evaluator& evaluator) {
  const size_t count = keep.size() - static_cast<size_t>(std::ranges::count(keep, 0));
  if (count == rows.size()) return {};
  Rows kept;
  auto names = std::make_shared<std::vector<SampleName>>();
  names->reserve(count);
  for (size_t i = 0; i < keep.size(); ++i)
    if (keep[i]) names->push_back((*rows.names)[i]);
  for (const Tensor& column : rows.columns) {
    HEADRACE_ASSIGN(Tensor some, kept_rows(column, keep, count, evaluator));
    kept.columns.push_back(std::move(some));
  }
  kept.names = std::move(names);
  // A dropped row ends where the last row before it ends.
  std::vector<uint64_t> before(keep.size() + 1, 0);
  for (size_t i = 0; i < keep.size(); ++i) before[i + 1] = before[i] + (keep[i] != 0);
  for (uint64_t& end : ends) end = before[end];
  rows = std::move(kept);
  return {};
}

// Only Python functions, of fields of the sample.
bool calls_only_functions(const Program& program) {
  return std::ranges::all_of(program.input_fields, [](int field) { return field >= 0; }) &&
         hold_for({&program, 1}) != nullptr;
}

// Iterates over samples: the values in columns, and the destination of the results.
class RowCursor {
 public:
  RowCursor(const std::vector<Tensor>& from, std::vector<MutView> to) : slots_(std::move(to)) {
    for (const Tensor& column : from) {
      const View all = column.view();
      const Shape row = all.shape.without_front();
      values_.push_back({{all.dtype, row, all.data}, nullptr});
      value_bytes_.push_back(row.size_bytes(all.dtype));
    }
    for (MutView& slot : slots_) {
      slot.shape = slot.shape.without_front();
      slot_bytes_.push_back(slot.shape.size_bytes(slot.dtype));
    }
  }
  std::span<const Operand> values() const { return values_; }
  std::span<const MutView> slots() const { return slots_; }
  void advance() {
    for (size_t f = 0; f < values_.size(); ++f) values_[f].view.data += value_bytes_[f];
    for (size_t f = 0; f < slots_.size(); ++f) slots_[f].data += slot_bytes_[f];
  }

 private:
  std::vector<Operand> values_;
  std::vector<MutView> slots_;
  std::vector<size_t> value_bytes_, slot_bytes_;
};

}  // namespace

bool can_be_columns(const Schema& schema) {
  return std::ranges::all_of(schema.specs, [](const TensorSpec& spec) {
    return spec.is_static() && !is_text(spec.dtype) && spec.shape.rank() < kMaxRank;
  });
}

size_t bytes_of_sample(const Schema& schema) {
  size_t bytes = 0;
  for (const TensorSpec& spec : schema.specs) bytes += spec.size_bytes();
  return bytes;
}

Result<std::vector<MutView>> add_columns(const Schema& rows, size_t count, Evaluator& evaluator,
                                         std::vector<Tensor>& columns) {
  std::vector<MutView> slots;
  for (const TensorSpec& row : rows.specs) {
    const TensorSpec column{row.dtype, row.shape.with_front(static_cast<int64_t>(count))};
    HEADRACE_ASSIGN(Tensor made, evaluator.allocate(column, Use::ragged));
    slots.push_back({column.dtype, column.shape, const_cast<Buffer*>(made.buffer.get())->mutable_data()});
    columns.push_back(std::move(made));
  }
  return slots;
}

// The schema of the samples after the steps so far.
class Together::Making {
 public:
  Making(Together& out, bool keep_failures) : out_(out), keep_failures_(keep_failures), one_(out.incoming_) {}

  bool add(Step::Does does, const Program& program, bool skips) {
    count_bytes();
    Step step{.does = does, .skips = skips};
    if (auto over_columns = batched(program, columns_of(one_))) {
      // Steps that may fail must not come after a function: it would be called again.
      if (out_.calls_functions_ && !program.steps.empty()) return false;
      const auto& specs = over_columns->schema.specs;
      const bool same =
          does == Step::Does::keep ? specs[0].shape.rank() == 1 : specs == columns_of(program.schema).specs;
      if (!same) return false;
      step.program = *std::move(over_columns);
    } else if (!keep_failures_ && calls_only_functions(program)) {
      step.program = program, step.calls = out_.calls_functions_ = true;
    } else {
      return false;
    }
    out_.steps_.push_back(std::move(step));
    if (does == Step::Does::map) one_ = program.schema;
    if (does == Step::Does::append) {
      const Schema& more = program.schema;
      one_.names.insert(one_.names.end(), more.names.begin(), more.names.end());
      one_.specs.insert(one_.specs.end(), more.specs.begin(), more.specs.end());
    }
    return does == Step::Does::keep || can_be_columns(program.schema);
  }
  bool add_unbatch() {
    count_bytes();
    const int64_t count = common_front(one_);
    if (count < 0) return false;
    out_.steps_.push_back({.does = Step::Does::unbatch, .rows = count});
    for (TensorSpec& spec : one_.specs) spec.shape = spec.shape.without_front();
    return true;
  }
  void count_bytes() { out_.sample_bytes_ = std::max(out_.sample_bytes_, bytes_of_sample(one_)); }

 private:
  Together& out_;
  bool keep_failures_;
  Schema one_;
};

std::unique_ptr<const Together> Together::make(const Schema& incoming, std::span<const Program> programs,
                                               std::span<const Link> links, size_t most_bytes,
                                               bool keep_failures) {
  if (!can_be_columns(incoming)) return nullptr;
  auto out = std::make_unique<Together>();
  out->incoming_ = incoming;
  Making making(*out, keep_failures);
  const auto is_skip = [](const Link& link) { return std::holds_alternative<SkipLink>(link); };
  for (const Program& program : programs)
    if (!making.add(Step::Does::map, program, std::ranges::any_of(links, is_skip))) return nullptr;
  for (size_t i = 0; i < links.size(); ++i) {
    const Link& link = links[i];
    const bool skips = std::ranges::any_of(links.subspan(i), is_skip);
    if (const auto* maps = std::get_if<std::vector<Program>>(&link)) {
      for (const Program& program : *maps)
        if (!making.add(Step::Does::map, program, skips)) return nullptr;
    } else if (const auto* filter = std::get_if<FilterLink>(&link)) {
      if (!making.add(Step::Does::keep, filter->predicate, skips)) return nullptr;
    } else if (const auto* key = std::get_if<KeyLink>(&link)) {
      if (!making.add(Step::Does::append, key->program, skips)) return nullptr;
    } else if (std::holds_alternative<UnbatchLink>(link)) {
      if (!making.add_unbatch()) return nullptr;
    }  // a SkipLink has no effect where nothing fails
  }
  making.count_bytes();
  if (out->sample_bytes_ > most_bytes) return nullptr;
  return out;
}

bool Together::run(Rows& rows, std::vector<uint64_t>& ends, Evaluator& evaluator, Failure& failure) const {
  bool called = false;
  for (const Step& step : steps_) {
    if (rows.size() == 0) {
      rows.columns.clear();
      return true;
    }
    Status status;
    if (step.does == Step::Does::unbatch)
      unbatch(step.rows, rows, ends);
    else if (step.calls)
      status = run_calls(step, rows, ends, evaluator, failure), called = true;
    else
      status = run_over_columns(step, rows, ends, evaluator);
    if (status.ok()) continue;
    if (!called) return false;
    failure = {std::move(status), 0, ""};
    return true;
  }
  return true;
}

Status Together::run_over_columns(const Step& step, Rows& rows, std::vector<uint64_t>& ends,
                                  Evaluator& evaluator) const {
  std::vector<Tensor> made(step.program.outputs.size());
  HEADRACE_TRY(evaluator.run({&step.program, 1}, operands_of(rows.columns), {}, {}, made));
  if (step.does == Step::Does::append)
    std::ranges::move(made, std::back_inserter(rows.columns));
  else if (step.does == Step::Does::map)
    rows.columns = std::move(made);
  else  // as bytes, not bools: values from a user's array may be other than 0 and 1
    return select({made[0].view().as<uint8_t>(), rows.size()}, rows, ends, evaluator);
  return {};
}

Status Together::run_calls(const Step& step, Rows& rows, std::vector<uint64_t>& ends, Evaluator& evaluator,
                           Failure& failure) const {
  const bool judges = step.does == Step::Does::keep;
  std::vector<uint8_t> keep(rows.size(), 1);
  std::vector<Tensor> made;
  std::vector<MutView> columns;
  if (judges) {
    const Shape front(std::array{static_cast<int64_t>(keep.size())});
    columns.push_back({DType::boolean, front, reinterpret_cast<std::byte*>(keep.data())});
  } else {
    HEADRACE_ASSIGN(columns, add_columns(step.program.schema, rows.size(), evaluator, made));
  }
  {
    const std::shared_ptr<const void> held = hold_for({&step.program, 1});
    const MeasuredWait waited(evaluator, held != nullptr);
    RowCursor row(rows.columns, std::move(columns));
    for (size_t i = 0; i < keep.size(); ++i, row.advance()) {
      const SampleName& name = (*rows.names)[i];
      Status status =
          evaluator.run({&step.program, 1}, row.values(), {name.id, name.shown_id}, row.slots(), {});
      if (status.ok()) continue;
      if (step.skips && is_data_error(status) && status.code() != Code::exhausted) {
        evaluator.counters().skipped.add(1);
        keep[i] = 0;
        continue;
      }
      if (status.code() == Code::exhausted) return status;
      const auto from = std::ranges::upper_bound(ends, i);
      failure = {std::move(status), static_cast<size_t>(from - ends.begin()), evaluator.failed_at()};
      keep.resize(i), ends.erase(from, ends.end());
    }
  }
  if (step.does == Step::Does::map)
    rows.columns = std::move(made);
  else if (!judges)
    std::ranges::move(made, std::back_inserter(rows.columns));
  return select(keep, rows, ends, evaluator);
}

}  // namespace headrace
