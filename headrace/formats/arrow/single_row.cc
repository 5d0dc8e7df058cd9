#include "headrace/formats/arrow/single_row.h"

#include <algorithm>

#include "headrace/formats/arrow/body.h"

namespace headrace::arrow {
namespace {

bool is_plain(const Column& column) {
  return !column.bits && !column.dictionary && column.stored == column.dtype && column.text_size == 0 &&
         !column.is_view && !column.has_only_nulls;
}

bool has_nulls(const Column& column, const Batch& batch) {
  const auto none_in = [&](uint32_t i) {
    const auto node = batch.node(i);
    return node.ok() && node->nulls == 0;
  };
  const auto is_one_row = [&](const NodeAt& at) {
    const auto node = batch.node(at.node);
    return node.ok() && node->nulls == 0 && node->rows == 1;
  };
  return !std::ranges::all_of(column.rows, is_one_row) || !std::ranges::all_of(column.between, none_in) ||
         (column.items && !none_in(column.items->node));
}

// Part of a buffer, inside the body; no bytes at all when it is outside.
Bytes part_of(const Batch& batch, const Bytes& body, BufferAt at, uint64_t offset, uint64_t length) {
  const auto buffer = batch.buffer(at);
  if (!buffer.ok()) return {};
  const auto piece = piece_of(batch, {*buffer, offset, length});
  if (!piece.ok()) return {};
  return {body.buffer, body.offset + piece->offset, length};
}

template <class T> bool read_offsets(const Bytes& bytes, uint64_t& begin, uint64_t& end) {
  begin = load<T>(bytes.data()), end = load<T>(bytes.data() + sizeof(T));
  return begin <= end;
}

bool read_column(const Column& column, const Batch& batch, const Bytes& body, Tensor& out) {
  if (!is_plain(column) || has_nulls(column, batch)) return false;
  uint64_t begin = 0, end = 1;
  Shape shape = column.item;
  if (column.is_list()) {
    const auto size = static_cast<uint64_t>(column.offset_size);
    const Bytes offsets = part_of(batch, body, column.offsets, 0, 2 * size);
    if (!offsets.buffer) return false;
    const bool in_order =
        size == 8 ? read_offsets<uint64_t>(offsets, begin, end) : read_offsets<uint32_t>(offsets, begin, end);
    if (!in_order) return false;
    shape = shape.with_front(static_cast<int64_t>(end - begin));
  }
  uint64_t first = 0, length = 0;
  const uint64_t each = column.item.size_bytes(column.dtype);
  if (__builtin_mul_overflow(begin, each, &first) || __builtin_mul_overflow(end - begin, each, &length))
    return false;
  Bytes values = part_of(batch, body, column.values, first, length);
  if (!values.buffer || reinterpret_cast<uintptr_t>(values.data()) % size_of(column.dtype) != 0) return false;
  out = {std::move(values.buffer), values.offset, column.dtype, shape, nullptr};
  return true;
}

}  // namespace

bool may_be_single_row(const std::vector<Column>& columns) { return std::ranges::all_of(columns, is_plain); }

bool read_single_row(const std::vector<Column>& columns, const Batch& batch, const Bytes& body,
                     std::vector<Tensor>& fields) {
  if (batch.rows() != 1 || batch.codec() != Codec::none || body.size < batch.body()) return false;
  fields.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i)
    if (!read_column(columns[i], batch, body, fields[i])) return false;
  return true;
}

}  // namespace headrace::arrow
