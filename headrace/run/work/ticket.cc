#include "headrace/run/work/ticket.h"

#include <algorithm>
#include <iterator>

namespace headrace {

size_t Item::num_samples() const {
  size_t n = samples.size();
  for (const RowRange& range : ranges) n += range.count;
  return n;
}

void Item::append(Item&& other) {
  if (!samples.empty() || !other.samples.empty()) part(), other.part();
  is_alone = is_alone && other.is_alone;
  std::ranges::move(other.samples, std::back_inserter(samples));
  std::ranges::move(other.ranges, std::back_inserter(ranges));
}

void Item::part() {
  if (!ranges.empty()) is_alone = false;
  for (const RowRange& range : ranges)
    for (size_t i = 0; i < range.count; ++i) samples.push_back(range.rows->sample(range.first + i));
  ranges.clear();
}

void Ticket::emit(Item& out, uint64_t most) {
  if (!rows_made) {
    out.samples.push_back(std::move(outputs[emitted++]));
    return;
  }
  const uint64_t count = std::min<uint64_t>(most, rows_made->size() - emitted);
  out.ranges.push_back({rows_made, emitted, count});
  emitted += count;
}

size_t Ticket::num_rows_made() const {
  size_t rows = rows_made ? rows_made->size() : 0;
  for (const Sample& batch : outputs)
    if (!batch.fields.empty()) rows += static_cast<size_t>(batch.fields[0].shape[0]);
  return rows;
}

void Ticket::take_back(Part& part) {
  const auto drop = [&](auto& all) {
    if (all.empty()) return;
    for (size_t n = part.first; n < part.first + part.count; ++n) all[n] = {};
  };
  for (LooseRows& all : rows) drop(all.texts), drop(all.tensors);
  begin_rows(part);
}

RowListPtr Ticket::row_list(size_t field, DType dtype) {
  LooseRows& all = rows[field];
  if (all.made) return all.made;
  if (!all.are_texts) return all.made = std::make_shared<const RowList>(std::move(all.tensors));
  std::vector<TextOwner> owners;
  for (Part& part : parts)
    if (field < part.owners.size()) std::ranges::move(part.owners[field], std::back_inserter(owners));
  return all.made = std::make_shared<const RowList>(dtype, std::move(all.memory), std::move(owners));
}

void Ticket::forget() {
  item.samples.clear(), item.ranges.clear(), item.turn = nullptr;
  slots.clear(), columns.clear(), rows.clear(), row_outputs.clear(), outputs.clear(), ends.clear();
  rows_made = nullptr;
}

}  // namespace headrace
