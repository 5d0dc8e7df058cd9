#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "headrace/core/consecutive.h"
#include "headrace/formats/arrays/arrays.h"
#include "headrace/formats/described.h"
#include "headrace/formats/format.h"

namespace headrace {
namespace {

// A column of the block: where row i begins, or the rows themselves.
struct Column {
  Tensor tensor;
  Shape row;
  size_t stride = 0;  // bytes of a row; 0 and unused if ragged
};

template <size_t kStride>
void gather_rows(const std::byte* from, std::span<const uint64_t> rows, std::byte* out) {
  for (const uint64_t row : rows) {
    std::memcpy(out, from + row * kStride, kStride);
    out += kStride;
  }
}

// Consecutive rows are copied at once; scattered ones use the copies of fixed size above.
void gather_runs(const std::byte* from, size_t stride, std::span<const uint64_t> rows, std::byte* out) {
  for (size_t i = 0; i < rows.size();) {
    const size_t run = num_consecutive(rows.subspan(i));
    if (run == 1 && stride == 8 && i + 1 < rows.size()) return gather_rows<8>(from, rows.subspan(i), out);
    if (run == 1 && stride == 4 && i + 1 < rows.size()) return gather_rows<4>(from, rows.subspan(i), out);
    std::memcpy(out, from + rows[i] * stride, run * stride);
    out += run * stride;
    i += run;
  }
}

class ColumnsBlock final : public Block {
 public:
  ColumnsBlock(std::vector<Column> columns, uint64_t size) : columns_(std::move(columns)), size_(size) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= size_)
      return invalid({.expected = "a row below " + std::to_string(size_), .got = std::to_string(row)})
          .in_format("arrays");
    fields.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      if (column.tensor.is_ragged())
        fields[i] = (*column.tensor.rows)[row];
      else
        fields[i] = {column.tensor.buffer, column.tensor.offset + row * column.stride, column.tensor.dtype,
                     column.row, nullptr};
    }
    return {};
  }

  bool gather(std::span<const uint64_t> rows, int field, std::byte* out) const override {
    const Column& column = columns_[static_cast<size_t>(field)];
    if (column.tensor.is_ragged()) return false;
    if (column.stride != 0) gather_runs(column.tensor.view().data, column.stride, rows, out);
    return true;
  }

  bool append(std::span<const uint64_t> rows, int field, std::vector<Tensor>& out) const override {
    const Column& column = columns_[static_cast<size_t>(field)];
    if (!column.tensor.is_ragged()) return false;
    for (const uint64_t row : rows) out.push_back((*column.tensor.rows)[row]);
    return true;
  }

  const std::vector<Column>& columns() const { return columns_; }

 private:
  std::vector<Column> columns_;
  uint64_t size_;
};

class ColumnsSource final : public Source {
 public:
  ColumnsSource(Schema schema, std::shared_ptr<const ColumnsBlock> block, uint64_t size, std::string slot)
      : schema_(std::move(schema)), block_(std::move(block)), size_(size), slot_(std::move(slot)) {}

  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return size_; }
  Place place(uint64_t index) const override { return {0, index}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t) const override { return ready(block_); }
  SamplePlace where(uint64_t index) const override {
    return {"", "row " + std::to_string(index) + " of " + slot_};
  }
  bool resident() const override { return true; }
  Value describe() const override {
    Value out;
    out.set("format", "arrays");
    out.set("slot", slot_);
    describe_schema(schema_, out);
    return out;
  }
  const ColumnsBlock& block() const { return *block_; }
  const std::string& slot() const { return slot_; }

  // Of names, dtypes, shapes and contents; reads the data once per call.
  std::string fingerprint() const override {
    std::string text = schema_.stable_text() + schema_.structure + std::to_string(size_);
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    const auto add = [&](const Tensor& tensor) {
      const View view = tensor.view();
      const std::string spec = view.spec().stable_text();
      XXH3_128bits_update(&state, spec.data(), spec.size());
      XXH3_128bits_update(&state, view.data, view.data ? view.size_bytes() : 0);
    };
    for (const Column& column : block_->columns()) {
      if (!column.tensor.is_ragged())
        add(column.tensor);
      else
        for (const Tensor& row : *column.tensor.rows) add(row);
    }
    const XXH128_hash_t hash = XXH3_128bits_digest(&state);
    return hash_text(text + ' ' + std::to_string(hash.high64) + ' ' + std::to_string(hash.low64));
  }

 private:
  Schema schema_;
  std::shared_ptr<const ColumnsBlock> block_;
  uint64_t size_;
  std::string slot_;
};

// Whether the tensor's bytes are inside its buffer.
Status check_bytes(const Tensor& tensor, const std::string& name) {
  uint64_t most =
      size_of(tensor.dtype);  // with empty axes counted as one: the size of a row must not overflow either
  bool empty = false;
  for (const int64_t dim : tensor.shape.dims()) {
    empty = empty || dim == 0;
    if (dim < 0 || __builtin_mul_overflow(most, std::max<uint64_t>(static_cast<uint64_t>(dim), 1), &most))
      return invalid({.expected = "a shape that fits in memory", .got = tensor.shape.text()})
          .of_field(name)
          .in_format("arrays");
  }
  const uint64_t wanted = empty ? 0 : most;
  const uint64_t held = tensor.buffer ? tensor.buffer->size() : 0;
  if (tensor.offset > held || wanted > held - tensor.offset)
    return invalid({.expected = std::to_string(wanted) + " bytes", .got = std::to_string(held)})
        .of_field(name)
        .in_format("arrays");
  return {};
}

// The spec that all rows of a ragged column match: dimensions are known where they agree.
Result<TensorSpec> common_spec(const std::vector<Tensor>& rows, const std::string& name) {
  if (rows.empty())
    return invalid("'" + name + "': expected at least one row, to know its dtype and rank")
        .in_format("arrays");
  TensorSpec spec = rows[0].view().spec();
  for (const Tensor& row : rows) {
    HEADRACE_TRY(check_bytes(row, name));
    if (row.is_ragged() || row.dtype != spec.dtype || row.shape.rank() != spec.shape.rank())
      return invalid({.expected = "rows of one dtype and rank",
                      .got = spec.text() + " and " + row.view().spec().text()})
          .of_field(name)
          .in_format("arrays");
    for (int i = 0; i < spec.shape.rank(); ++i)
      if (row.shape[i] != spec.shape[i]) spec.shape.set(i, kAny);
  }
  if (is_text(spec.dtype)) spec.shape = Shape{kAny};
  return spec;
}

Result<Column> column_of(Tensor tensor, const std::string& name, TensorSpec& spec, uint64_t& size) {
  if (tensor.is_ragged()) {
    HEADRACE_ASSIGN(spec, common_spec(tensor.rows->tensors(), name));
    size = tensor.rows->size();
    return Column{std::move(tensor), spec.shape, 0};
  }
  if (is_text(tensor.dtype))
    return invalid({.expected = "one tensor per row for " + std::string(dtype_name(tensor.dtype)),
                    .got = tensor.view().spec().text()})
        .of_field(name)
        .in_format("arrays");
  if (tensor.shape.rank() == 0)
    return invalid({.expected = "an axis 0 to slice along", .got = "a scalar"})
        .of_field(name)
        .in_format("arrays");
  HEADRACE_TRY(check_bytes(tensor, name));
  spec = {tensor.dtype, tensor.shape.without_front()};
  size = static_cast<uint64_t>(tensor.shape[0]);
  return Column{std::move(tensor), spec.shape, spec.size_bytes()};
}

Result<SourcePtr> unbound(const Value& options) {
  HEADRACE_ASSIGN(const std::string slot, options.get_text("slot"));
  return invalid("the plan does not contain the data of slot '" + slot + "'; bind it when you open the plan");
}

const FormatRegistration registered_columns({
    .name = "arrays",
    .doc = "Columns in memory: row i of every array is sample i.",
    .options = {{"slot", "str", "The name under which data is bound to a saved plan.", Value()},
                {"names", "list", "The expected fields.", Value()},
                {"specs", "list", "Their dtypes and shapes: [dtype, [dimension or null, …]] each.", Value()},
                {"structure", "str", "Their structure.", Value()}},
    .make = unbound,
});

}  // namespace

Result<SourcePtr> array_source(Schema schema, std::vector<Tensor> columns, std::string slot) {
  if (columns.empty() || columns.size() != schema.names.size())
    return invalid({.expected = "at least one column and one name per column",
                    .got = std::to_string(schema.names.size()) + " names and " +
                           std::to_string(columns.size()) + " columns"})
        .in_format("arrays");
  schema.specs.resize(columns.size());
  std::vector<Column> checked;
  uint64_t rows = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    uint64_t size = 0;
    HEADRACE_ASSIGN(Column column, column_of(std::move(columns[i]), schema.names[i], schema.specs[i], size));
    if (i > 0 && size != rows)
      return invalid({.expected = "columns of the same length",
                      .got = "'" + schema.names[0] + "' with " + std::to_string(rows) + " rows and '" +
                             schema.names[i] + "' with " + std::to_string(size)})
          .in_format("arrays");
    rows = size;
    checked.push_back(std::move(column));
  }
  auto block = std::make_shared<const ColumnsBlock>(std::move(checked), rows);
  return SourcePtr(
      std::make_shared<ColumnsSource>(std::move(schema), std::move(block), rows, std::move(slot)));
}

Result<SourcePtr> fit_columns(const SourcePtr& given, const Schema& wanted) {
  const Schema& schema = given->schema();
  HEADRACE_TRY(check_fields(wanted, schema));
  if (schema.names == wanted.names && schema.structure == wanted.structure) return given;
  const auto* columns = dynamic_cast<const ColumnsSource*>(given.get());
  if (!columns)
    return invalid({.expected = "samples with the fields " + wanted.text() + " in this order and nesting",
                    .got = schema.text()});
  std::vector<Tensor> tensors;
  for (const std::string& name : wanted.names)
    tensors.push_back(columns->block().columns()[static_cast<size_t>(schema.find(name))].tensor);
  return array_source(wanted, std::move(tensors), columns->slot());
}

}  // namespace headrace
