#include "headrace/formats/parquet/values.h"

#include <algorithm>

namespace headrace::parquet {
namespace {

Status null_value(const Column& column, const char* what) {
  return corrupt("wants " + std::string(what) + " in column '" + column.name +
                 "', got null; nulls=\"zero\" reads zeros or nothing for it");
}

}  // namespace

Status Values::at(uint64_t row, Nulls nulls, Tensor& out) const {
  row += first;
  const bool is_null = !null_rows.empty() && null_rows[row] != 0;
  if (is_null && nulls == Nulls::error && !column->null_is_empty) return null_value(*column, "a value");
  if (column->is_text()) {
    const Piece& piece = pieces[row];  // an empty one where it is null
    out = Tensor{buffers[piece.buffer], piece.offset, column->dtype, Shape{piece.length}, nullptr};
    return {};
  }
  const uint64_t item = column->is_list ? starts[row] : row;
  const uint64_t count = column->is_list ? starts[row + 1] - item : 1;
  out =
      Tensor{data, item * column->row_bytes(), column->dtype,
             column->is_list ? column->item.with_front(static_cast<int64_t>(count)) : column->item, nullptr};
  return null_items.empty() || is_null ? Status() : without_nulls(item * column->items_each(), nulls, out);
}

// Nulls are zeros in `data` already.
Status Values::without_nulls(uint64_t first_item, Nulls nulls, Tensor& out) const {
  if (nulls == Nulls::zero) return {};
  const uint64_t width = column->value_size() / size_of(column->dtype);
  const auto begin = null_items.begin() + static_cast<ptrdiff_t>(first_item / width);
  const auto count = static_cast<ptrdiff_t>(static_cast<uint64_t>(out.shape.count()) / width);
  if (std::find(begin, begin + count, 1) == begin + count) return {};
  return null_value(*column, "numbers only");
}

}  // namespace headrace::parquet
