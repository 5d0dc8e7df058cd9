// Collates rows into one tensor.
#include "headrace/run/evaluate/collate.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

std::string named(size_t row, const NameOfRow& who) {
  return "row " + std::to_string(row) + " (" + who(row) + ")";
}

Status unequal(const std::string& name, size_t row, const Shape& first, const Shape& shape,
               const NameOfRow& who) {
  return invalid("field '" + name + "': expected rows of one shape, but " + named(0, who) + " is " +
                 first.text() + " and " + named(row, who) + " is " + shape.text() +
                 "; resize or crop, use padded_batch, or batch with ragged=True")
      .with({.field = name, .expected = "rows of one shape", .got = shape.text()})
      .in_op("batch");
}

Status has_rows(const std::string& name, size_t row, const NameOfRow& who) {
  return invalid("field '" + name + "': expected rows of one shape, but " + named(row, who) +
                 " is itself ragged; use padded_batch before, or batch with ragged=True")
      .with({.field = name, .expected = "rows of one shape"})
      .in_op("batch");
}

Result<Tensor> stacked(std::span<const Tensor> rows, const TensorSpec& row, const std::string& name,
                       Evaluator& evaluator, const NameOfRow& who) {
  const Shape& shape = rows.empty() ? row.shape : rows[0].shape;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].is_ragged()) return has_rows(name, i, who);
    if (!(rows[i].shape == shape)) return unequal(name, i, shape, rows[i].shape, who);
  }
  HEADRACE_ASSIGN(
      Tensor out,
      evaluator.allocate({row.dtype, shape.with_front(static_cast<int64_t>(rows.size()))}, Use::slot));
  std::byte* to = const_cast<Buffer*>(out.buffer.get())->mutable_data();
  for (const Tensor& r : rows) {
    if (evaluator.scratch().is_stopped()) return stopped();
    const View view = r.view();
    if (view.size_bytes() > 0) std::memcpy(to, view.data, view.size_bytes());
    to += view.size_bytes();
  }
  return out;
}

// The shape that all rows are padded to.
Result<Shape> common_shape(std::span<const Tensor> rows, const Shape& wanted, const std::string& name,
                           const NameOfRow& who, int64_t bound) {
  Shape out = wanted;
  for (int d = 0; d < out.rank(); ++d)
    if (out[d] == kAny) out.set(d, bound);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Shape& row = rows[i].shape;
    bool fits = !rows[i].is_ragged() && row.rank() == out.rank();
    for (int d = 0; fits && d < out.rank(); ++d) {
      const bool open = wanted[d] == kAny && bound == 0;
      if (open && row[d] > out[d]) out.set(d, row[d]);
      fits = row[d] <= out[d];
    }
    if (!fits)
      return invalid("padded_batch: field '" + name + "': expected rows of at most " + out.text() + ", but " +
                     named(i, who) + " is " + row.text());
  }
  return out;
}

void fill(std::byte* to, size_t size, std::span<const std::byte> element) {
  if (std::ranges::all_of(element, [](std::byte b) { return b == std::byte{0}; })) {
    std::memset(to, 0, size);
    return;
  }
  for (size_t i = 0; i < size; i += element.size()) std::memcpy(to + i, element.data(), element.size());
}

// Copies a dense row to the front corner of a larger dense place.
void copy_into(const View& row, const Shape& place, std::byte* to) {
  const int rank = row.shape.rank();
  const size_t element = size_of(row.dtype);
  if (row.size_bytes() == 0) return;
  const size_t run = rank == 0 ? element : static_cast<size_t>(row.shape[rank - 1]) * element;
  std::array<int64_t, kMaxRank> at{};
  for (const std::byte* from = row.data; from < row.data + row.size_bytes(); from += run) {
    size_t offset = 0;
    for (int d = 0; d < rank; ++d)
      offset = offset * static_cast<size_t>(place[d]) + static_cast<size_t>(at[static_cast<size_t>(d)]);
    std::memcpy(to + offset * element, from, run);
    for (int d = rank - 2; d >= 0; --d) {
      if (++at[static_cast<size_t>(d)] < row.shape[d]) break;
      at[static_cast<size_t>(d)] = 0;
    }
  }
}

Result<Tensor> padded(std::span<const Tensor> rows, const TensorSpec& row, const Value& fill_with,
                      const std::string& name, Evaluator& evaluator, const NameOfRow& who, int64_t bound) {
  HEADRACE_ASSIGN(const Shape place, common_shape(rows, row.shape, name, who, bound));
  const TensorSpec spec{row.dtype, place.with_front(static_cast<int64_t>(rows.size()))};
  HEADRACE_ASSIGN(Tensor out, evaluator.allocate(spec, Use::slot));
  const std::vector<std::byte> element = element_bytes(fill_with, row.dtype);
  std::byte* to = const_cast<Buffer*>(out.buffer.get())->mutable_data();
  for (const Tensor& r : rows) {
    if (evaluator.scratch().is_stopped()) return stopped();
    if (!(r.shape == place)) fill(to, place.size_bytes(row.dtype), element);
    copy_into(r.view(), place, to);
    to += place.size_bytes(row.dtype);
  }
  return out;
}

}  // namespace

Tensor ragged_column(RowListPtr rows, DType dtype) {
  Tensor out;
  out.dtype = dtype;
  out.shape = {static_cast<int64_t>(rows->size())};
  out.rows = std::move(rows);
  return out;
}

bool has_slots(const Batch& batch, const Schema& schema, size_t field) {
  const TensorSpec& spec = schema.specs[field];
  if (batch.ragged || !spec.is_static()) return false;
  if (!batch.padding) return true;
  const auto row = padded_spec(*batch.padding, schema, field, "padded_batch");
  return row.ok() && *row == spec;
}

bool are_texts(const TensorSpec& row) { return is_text(row.dtype) && row.shape.rank() == 1; }

Result<Tensor> collate(std::span<const Tensor> rows, const Batch& batch, const Schema& schema, size_t field,
                       Evaluator& evaluator, const NameOfRow& who, int64_t bound) {
  const TensorSpec& spec = schema.specs[field];
  if (batch.ragged || is_text(spec.dtype))
    return ragged_column(std::make_shared<const RowList>(std::vector<Tensor>(rows.begin(), rows.end())),
                         spec.dtype);
  if (!batch.padding) return stacked(rows, spec, schema.names[field], evaluator, who);
  HEADRACE_ASSIGN(const TensorSpec row, padded_spec(*batch.padding, schema, field, "padded_batch"));
  return padded(rows, row, batch.padding->fill[field], schema.names[field], evaluator, who, bound);
}

}  // namespace headrace
