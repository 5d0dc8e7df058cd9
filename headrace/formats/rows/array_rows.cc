#include "headrace/formats/rows/array_rows.h"

#include <algorithm>

namespace headrace {
namespace {

// `row`: the header of a file that holds a single row, without the bytes of a header.
ConvertRows conversion(const NpyHeader& row) {
  if (is_npy_plain(row)) return nullptr;
  return [row, size = row.shape.size_bytes(row.dtype)](std::span<const std::byte> stored, uint64_t count,
                                                       std::byte* out) {
    if (!row.column_major) {
      NpyHeader all = row;
      all.shape = row.shape.with_front(static_cast<int64_t>(count));
      return (void)read_npy_data(stored, all, out);
    }
    for (uint64_t i = 0; i < count; ++i)
      (void)read_npy_data(stored.subspan(i * size, size), row, out + i * size);
  };
}

}  // namespace

Result<FoundArray> array_rows(std::string name, const NpyHeader& header, uint64_t begin, uint64_t size) {
  const TensorSpec whole{header.dtype, header.shape};
  if (header.shape.rank() == 0)
    return invalid({.expected = "an array whose first dimension is the samples",
                    .got = "a single number",
                    .fix = "save x[None]"});
  const uint64_t bytes = whole.size_bytes();
  if (header.data > size || bytes != size - header.data)
    return corrupt({.expected = std::to_string(bytes) + " bytes for " + whole.text(),
                    .got = std::to_string(size - std::min<uint64_t>(header.data, size))});
  FoundArray out;
  out.name = std::move(name);
  out.spec = {header.dtype, header.shape.without_front()};
  out.count = static_cast<uint64_t>(header.shape[0]);
  if (out.count > 0 && bytes == 0)
    return invalid({.expected = "rows of at least one number", .got = whole.text()});
  FieldRows& rows = out.rows;
  rows.offset = begin + header.data;
  if (out.count == 0) return out;
  rows.stride = rows.bytes = bytes / out.count;
  const uint64_t numbers = rows.bytes / size_of(header.dtype);
  if (header.column_major && numbers > 1 && out.count > 1)
    rows.numbers = numbers, rows.item = size_of(header.dtype);
  NpyHeader row = header;
  row.shape = out.spec.shape, row.data = 0;
  row.column_major = header.column_major && row.shape.rank() > 1;
  rows.convert = conversion(row);
  return out;
}

Result<FoundArray> array_rows_held(std::string name, const NpyHeader& header, const BufferPtr& bytes) {
  HEADRACE_ASSIGN(FoundArray out, array_rows(std::move(name), header, 0, bytes->size()));
  FieldRows& rows = out.rows;
  const bool is_ready = !rows.convert && rows.numbers == 0 && rows.offset % size_of(header.dtype) == 0;
  if (is_ready)
    rows.held = bytes;
  else
    hold_rows(out.spec, out.count, bytes->bytes().subspan(rows.offset), rows);
  return out;
}

}  // namespace headrace
