#include "headrace/run/together.h"

#include <algorithm>
#include <cstring>

#include "headrace/graph/batched.h"

namespace headrace {
namespace {

// The columns of samples of this schema.
Schema columns_of(const Schema& schema) {
  Schema out = schema;
  for (TensorSpec& spec : out.specs) spec.shape = spec.shape.with_front(kAny);
  return out;
}

bool can_be_columns(const Schema& schema) {
  return std::ranges::all_of(schema.specs, [](const TensorSpec& spec) {
    return spec.is_static() && !is_text(spec.dtype) && spec.shape.rank() < kMaxRank;
  });
}

// How many rows each field has; -1 when that is not one number.
int64_t common_front(const Schema& schema) {
  int64_t out = -1;
  for (const TensorSpec& spec : schema.specs) {
    if (spec.shape.rank() == 0 || (out >= 0 && spec.shape[0] != out)) return -1;
    out = spec.shape[0];
  }
  return out;
}

// Rows of `rows` rows each become those.
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

Result<std::vector<Tensor>> run_over(const Program& program, const Rows& rows, Evaluator& evaluator) {
  std::vector<Tensor> made(program.outputs.size());
  HEADRACE_TRY(evaluator.run({&program, 1}, operands_of(rows.columns), {}, {}, made));
  return made;
}

Status keep_some(const Program& predicate, Rows& rows, std::vector<uint64_t>& ends, Evaluator& evaluator) {
  HEADRACE_ASSIGN(const std::vector<Tensor> verdict, run_over(predicate, rows, evaluator));
  // Bytes, not bools: what came from somebody's array may be neither 0 nor 1.
  const std::span<const uint8_t> keep(verdict[0].view().as<uint8_t>(), rows.size());
  const size_t count = keep.size() - static_cast<size_t>(std::ranges::count(keep, 0));
  if (count == keep.size()) return {};
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
  // Rows that were left out before end where the last one before them does.
  std::vector<uint64_t> before(keep.size() + 1, 0);
  for (size_t i = 0; i < keep.size(); ++i) before[i + 1] = before[i] + (keep[i] != 0);
  for (uint64_t& end : ends) end = before[end];
  rows = std::move(kept);
  return {};
}

}  // namespace

std::unique_ptr<const Together> Together::make(const Schema& incoming, std::span<const Program> programs,
                                               std::span<const Link> links, size_t most_bytes) {
  auto out = std::make_unique<Together>();
  Schema one = incoming;  // of a sample, as it is after the steps so far
  size_t bytes = 0;
  const auto over_columns = [&](const Program& program) { return batched(program, columns_of(one)); };
  const auto count_bytes = [&] {
    size_t size = 0;
    for (const TensorSpec& spec : one.specs) size += spec.size_bytes();
    bytes = std::max(bytes, size);
  };
  const auto add_map = [&](const Program& program) {
    auto made = over_columns(program);
    if (!made || !(made->schema.specs == columns_of(program.schema).specs)) return false;
    out->steps_.emplace_back(*std::move(made));
    one = program.schema;
    return can_be_columns(one);
  };
  if (!can_be_columns(one)) return nullptr;
  count_bytes();
  for (const Program& program : programs)
    if (!add_map(program)) return nullptr;
  for (const Link& link : links) {
    count_bytes();
    if (const auto* maps = std::get_if<std::vector<Program>>(&link)) {
      if (!std::ranges::all_of(*maps, add_map)) return nullptr;
    } else if (const auto* filter = std::get_if<FilterLink>(&link)) {
      auto made = over_columns(filter->predicate);
      if (!made || made->schema.specs[0].shape.rank() != 1) return nullptr;
      out->steps_.emplace_back(Keep{*std::move(made)});
    } else if (const auto* key = std::get_if<KeyLink>(&link)) {
      auto made = over_columns(key->program);
      if (!made || !(made->schema.specs == columns_of(key->program.schema).specs) ||
          !can_be_columns(key->program.schema))
        return nullptr;
      out->steps_.emplace_back(Append{*std::move(made)});
      one.names.insert(one.names.end(), key->program.schema.names.begin(), key->program.schema.names.end());
      one.specs.insert(one.specs.end(), key->program.schema.specs.begin(), key->program.schema.specs.end());
    } else if (std::holds_alternative<UnbatchLink>(link)) {
      const int64_t count = common_front(one);
      if (count < 0) return nullptr;
      out->steps_.emplace_back(Unbatch{count});
      for (TensorSpec& spec : one.specs) spec.shape = spec.shape.without_front();
    } else if (!std::holds_alternative<SkipLink>(link)) {  // which has nothing to do where nothing fails
      return nullptr;
    }
  }
  count_bytes();
  if (bytes > most_bytes) return nullptr;
  out->incoming_ = incoming, out->sample_bytes_ = bytes;
  return out;
}

Status Together::run(Rows& rows, std::vector<uint64_t>& ends, Evaluator& evaluator) const {
  for (const Step& step : steps_) {
    if (rows.size() == 0) {
      rows.columns.clear();
      return {};
    }
    if (const auto* keep = std::get_if<Keep>(&step)) {
      HEADRACE_TRY(keep_some(keep->predicate, rows, ends, evaluator));
    } else if (const auto* apart = std::get_if<Unbatch>(&step)) {
      unbatch(apart->rows, rows, ends);
    } else if (const auto* append = std::get_if<Append>(&step)) {
      HEADRACE_ASSIGN(std::vector<Tensor> made, run_over(append->program, rows, evaluator));
      std::ranges::move(made, std::back_inserter(rows.columns));
    } else {
      HEADRACE_ASSIGN(rows.columns, run_over(std::get<Program>(step), rows, evaluator));
    }
  }
  return {};
}

}  // namespace headrace
