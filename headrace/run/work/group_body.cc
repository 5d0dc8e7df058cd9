#include "headrace/run/work/group_body.h"

#include <algorithm>
#include <cstring>

namespace headrace {
namespace {

// Whether Rows stores them as a list rather than a dense column.
bool are_lists(const TensorSpec& row) { return are_texts(row) && !row.is_static(); }

// A column of strings that shares their memory.
RowListPtr texts_of(std::span<const RowRange> ranges, size_t field, DType dtype) {
  const auto slice = [&](const RowRange& range) {
    return range.rows->columns[field].rows->slice(range.first, range.count);
  };
  if (ranges.size() == 1) return slice(ranges[0]);
  size_t count = 0;
  for (const RowRange& range : ranges) count += range.count;
  const MutableBufferPtr memory = HeapBuffer::make(count * sizeof(Text));
  std::vector<TextOwner> owners;
  auto to = make_texts(*memory).begin();
  for (size_t first = 0; const RowRange& range : ranges) {
    const RowListPtr some = slice(range);
    for (const TextOwner& owner : some->owners()) owners.push_back({first + owner.first, owner.buffer});
    to = std::ranges::copy(some->texts(), to).out, first += range.count;
  }
  return std::make_shared<const RowList>(dtype, memory, std::move(owners));
}

bool has_valid_row(const RowRange& range) {
  const auto names = std::span(*range.rows->names).subspan(range.first, range.count);
  return std::ranges::any_of(names, [](const SampleName& name) { return name.id.valid; });
}

}  // namespace

RowStatus GroupBody::run(Ticket& ticket, Part&, Evaluator& evaluator) const {
  ticket.row_outputs[0].clear();
  bool in_columns = true;
  for (size_t f = 0; f < row_schema_.size(); ++f)
    in_columns = in_columns && (has_slots(batch_, row_schema_, f) || are_lists(row_schema_.specs[f]));
  if (!in_columns) ticket.item.part();
  auto batch = ticket.item.ranges.empty() ? of_samples(ticket.item, evaluator)
                                          : of_ranges(ticket.item.ranges, evaluator);
  if (!batch.ok()) return {batch.status(), 0};
  const auto where = [] { return "a batch"; };
  if (auto done = unbatch_together(*batch, ticket, evaluator, where)) return {*std::move(done), 0};
  return {follow(*std::move(batch), 0, evaluator, where, ticket.row_outputs[0]), 0};
}

bool GroupBody::finish_at_once(Ticket& ticket) const {
  join_outputs(ticket);
  return true;
}

Result<Sample> GroupBody::of_samples(const Item& item, Evaluator& evaluator) const {
  Sample out{item.samples[0].id, item.samples[0].shown_id, {}, nullptr};
  out.id.valid = std::ranges::any_of(item.samples, [](const Sample& sample) { return sample.id.valid; });
  for (const Sample& sample : item.samples)
    if (sample.failure) return *sample.failure;
  const auto who = [&](size_t i) { return "sample " + std::to_string(item.samples[i].shown_id); };
  std::vector<Tensor> rows;
  for (size_t f = 0; f < row_schema_.size(); ++f) {
    rows.clear();
    for (const Sample& sample : item.samples) rows.push_back(sample.fields[f]);
    HEADRACE_ASSIGN(Tensor column,
                    collate(rows, batch_, row_schema_, f, evaluator, who, static_cast<int64_t>(item.first)));
    out.fields.push_back(std::move(column));
  }
  return out;
}

Result<Sample> GroupBody::of_ranges(std::span<const RowRange> ranges, Evaluator& evaluator) const {
  const SampleName& name = (*ranges[0].rows->names)[ranges[0].first];
  Sample out{name.id, name.shown_id, {}, nullptr};
  out.id.valid = std::ranges::any_of(ranges, has_valid_row);
  size_t count = 0;
  for (const RowRange& range : ranges) count += range.count;
  for (size_t f = 0; f < row_schema_.size(); ++f) {
    const TensorSpec& row = row_schema_.specs[f];
    if (are_lists(row)) {
      out.fields.push_back(ragged_column(texts_of(ranges, f, row.dtype), row.dtype));
      continue;
    }
    const size_t stride = row.size_bytes();
    HEADRACE_ASSIGN(
        Tensor column,
        evaluator.allocate({row.dtype, row.shape.with_front(static_cast<int64_t>(count))}, Use::slot));
    std::byte* to = const_cast<Buffer*>(column.buffer.get())->mutable_data();
    for (const RowRange& range : ranges) {
      std::memcpy(to, range.rows->columns[f].view().data + range.first * stride, range.count * stride);
      to += range.count * stride;
    }
    out.fields.push_back(std::move(column));
  }
  return out;
}

}  // namespace headrace
