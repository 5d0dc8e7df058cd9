#include "headrace/run/evaluate/sample_rows.h"

#include <algorithm>
#include <cstring>

#include "headrace/core/row_list.h"

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

bool separate(Tensor& field, Pool& pool) {
  const View view = field.view();
  MutableBufferPtr own = pool.take(std::max<size_t>(view.size_bytes(), 1), Use::slot);
  if (!own) return false;
  std::memcpy(own->mutable_data(), view.data, view.size_bytes());
  field.buffer = std::move(own), field.offset = 0;
  return true;
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
