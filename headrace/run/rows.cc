#include "headrace/run/rows.h"

#include <algorithm>
#include <cstring>

namespace headrace {

void name_rows(SampleName name, int64_t rows, std::vector<SampleName>& out) {
  const uint32_t parent = name.id.child;
  for (int64_t row = 0; row < rows; ++row) {
    name.id.child = child_number(parent, row);
    out.push_back(name);
  }
}

Sample Rows::sample(size_t i) const {
  Sample out{(*names)[i].id, (*names)[i].shown_id, {}, nullptr};
  out.fields.reserve(columns.size());
  for (const Tensor& column : columns) {
    if (column.is_ragged()) {
      out.fields.push_back((*column.rows)[i]);
      continue;
    }
    const Shape shape = column.shape.without_front();
    out.fields.push_back(
        {column.buffer, column.offset + i * shape.size_bytes(column.dtype), column.dtype, shape, nullptr});
  }
  return out;
}

Status separate(Sample& sample, Pool& pool, size_t times) {
  for (Tensor& field : sample.fields) {
    if (!field.buffer) continue;  // a list of rows
    const View view = field.view();
    if (field.buffer->size() < times * view.size_bytes()) continue;
    MutableBufferPtr own = pool.take(std::max<size_t>(view.size_bytes(), 1), Use::slot);
    if (!own) return over_budget(view.size_bytes(), pool, "sample");
    std::memcpy(own->mutable_data(), view.data, view.size_bytes());
    field.buffer = std::move(own), field.offset = 0;
  }
  return {};
}

namespace {

// The memory that a sample keeps, its neighbours' too.
size_t bytes_kept_by(const Sample& sample) {
  size_t out = 0;
  const Buffer* last = nullptr;  // fields often share one
  for (const Tensor& field : sample.fields)
    if (field.buffer && field.buffer.get() != last) out += (last = field.buffer.get())->size();
  return out;
}

}  // namespace

Status leave_blocks(std::vector<Sample>& samples, Pool& pool) {
  constexpr size_t kSmallPart = 8, kBatch = 64;
  const Pool::Ledger ledger = pool.ledger();
  for (Sample& sample : samples)
    if (ledger.in_use >= ledger.budget / 2 || bytes_kept_by(sample) >= ledger.budget / kBatch)
      HEADRACE_TRY(separate(sample, pool, kSmallPart));
  return {};
}

std::shared_ptr<const Rows> Narrowed::of(const std::shared_ptr<const Rows>& rows, size_t columns) {
  if (whole_ != rows) {
    auto made = std::make_shared<Rows>(*rows);
    made->columns.resize(rows->columns.size() - columns);
    whole_ = rows, narrow_ = std::move(made);
  }
  return narrow_;
}

}  // namespace headrace
