#include "headrace/formats/parquet/values.h"

#include <algorithm>

#include "headrace/core/little_endian.h"
#include "headrace/formats/parquet/changes.h"

namespace headrace::parquet {
namespace {

Status got_null(const Column& column, const char* what, const std::string& how_to_read_it) {
  return corrupt({.expected = std::string(what) + " in column '" + column.name + "'",
                  .got = "null",
                  .fix = how_to_read_it})
      .with({.field = column.name, .option = "nulls"});
}

}  // namespace

Status Values::at(uint64_t row, Nulls nulls, Tensor& out) const {
  row += first;
  const bool is_null = !null_rows.empty() && null_rows[row] != 0;
  const bool is_no_number = column->is_list || !is_float(column->dtype);  // NaN cannot replace a null
  if (is_null && !column->null_is_empty && (nulls == Nulls::error || (nulls == Nulls::nan && is_no_number)))
    return got_null(*column, "a value", null_is_read(!is_no_number));
  const bool may_have_nulls = !null_items.empty() && !is_null && refuses_items(nulls);
  if (column->is_text()) {
    if (may_have_nulls) HEADRACE_TRY(without_nulls(starts[row], starts[row + 1] - starts[row]));
    const Piece& piece = pieces[row];  // empty where it is null
    out = Tensor{buffers[piece.buffer], piece.offset, column->dtype, Shape{piece.length}, nullptr};
    return {};
  }
  if (!wrong_rows.empty() && wrong_rows[row])
    return corrupt({.expected = column->spec().text() + " in column '" + column->name + "'",
                    .got = "lists of other lengths"});
  const uint64_t width = column->value_size() / size_of(column->dtype), each = column->items_each() / width;
  const uint64_t value = starts.empty() ? row * each : starts[row];
  const uint64_t count = column->is_list ? (starts[row + 1] - value) / std::max<uint64_t>(each, 1) : 1;
  out =
      Tensor{data, value * column->value_size(), column->dtype,
             column->is_list ? column->item.with_front(static_cast<int64_t>(count)) : column->item, nullptr};
  if (may_have_nulls) HEADRACE_TRY(without_nulls(value, static_cast<uint64_t>(out.shape.count()) / width));
  if (nulls == Nulls::nan && (is_null || !null_items.empty())) put_nans(value, is_null, out);
  return has_far_times ? without_far_times(value, out) : Status();
}

Values Values::lengths(const Column& of) const {
  Values out;
  out.column = &of;
  out.rows = rows, out.first = first;
  out.data = data;
  out.starts = starts;
  out.null_rows = null_rows, out.null_items = null_items;
  out.held = starts.size() * sizeof(uint64_t) + null_rows.size() + null_items.size();
  return out;
}

// Where nulls are not an error, they are already zeros or empty.
Status Values::without_nulls(uint64_t first_value, uint64_t count) const {
  const auto begin = null_items.begin() + static_cast<ptrdiff_t>(first_value);
  const auto end = begin + static_cast<ptrdiff_t>(count);
  if (std::find(begin, end, 1) == end) return {};
  return got_null(*column, column->is_of_texts() ? "strings without nulls" : "numbers without nulls",
                  null_item_is_read(is_float(column->dtype)));
}

// Replaces nulls, in a copy.
void Values::put_nans(uint64_t first_value, bool is_null, Tensor& out) const {
  const size_t size = size_of(column->dtype), count = static_cast<size_t>(out.shape.count());
  const MutableBufferPtr copy = HeapBuffer::make(count * size);
  const std::span<std::byte> bytes(copy->mutable_data(), count * size);
  std::ranges::copy(out.view().bytes(), bytes.begin());
  for (size_t i = 0; i < count; ++i)
    if (is_null || null_items[first_value + i]) fill_nan(column->dtype, bytes.subspan(i * size, size));
  out.buffer = copy, out.offset = 0;
}

Status Values::without_far_times(uint64_t first_value, const Tensor& out) const {
  for (uint64_t i = first_value; i < first_value + static_cast<uint64_t>(out.shape.count()); ++i) {
    const auto time = load<int64_t>(data->data() + i * sizeof(int64_t));
    if (time == kTooEarly || time == kTooLate)
      return corrupt({.expected = "times in the years 1677 to 2262 in column '" + column->name +
                                  "', the range of int64 nanoseconds since 1970",
                      .got = time == kTooEarly ? "one before" : "one after"});
  }
  return {};
}

}  // namespace headrace::parquet
