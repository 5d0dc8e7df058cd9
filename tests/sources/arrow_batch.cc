#include "tests/sources/arrow_batch.h"

#include "tests/sources/little_endian.h"

namespace headrace::trial {
namespace {

constexpr uint8_t kRecordBatch = 3;  // Message.fbs: the union MessageHeader
// Least bits of body per row: a boolean, compressed by the most we accept.
constexpr uint64_t kMaxRowsPerByte = 8 * 1000;

Status check_nodes(const FlatTable& batch, uint64_t num_rows, const ArrowSchema& schema,
                   const std::vector<ArrowColumn>& columns) {
  HEADRACE_ASSIGN(const auto nodes, batch.vector(1, 16));
  if (nodes.count != schema.num_nodes)
    return corrupt("arrow: wants " + std::to_string(schema.num_nodes) + " columns in a record batch, got " +
                   std::to_string(nodes.count));
  const auto check = [&](uint32_t node, const ArrowColumn& column) -> Status {
    const auto* at = nodes.bytes.data() + uint64_t{16} * node;
    if (load<uint64_t>(at) != num_rows)
      return corrupt("arrow: wants " + std::to_string(num_rows) + " rows in column " + column.name +
                     ", got " + std::to_string(load<uint64_t>(at)));
    if (load<int64_t>(at + 8) != 0)
      return Status(Code::unavailable, "arrow: column " + column.name + " has nulls");
    return {};
  };
  for (const ArrowColumn& column : columns) {
    HEADRACE_TRY(check(column.node, column));
    for (const uint32_t parent : column.parents) HEADRACE_TRY(check(parent, column));
  }
  return {};
}

Result<std::vector<ArrowPiece>> read_pieces(const FlatTable& batch, uint64_t body_length,
                                            const ArrowSchema& schema) {
  HEADRACE_ASSIGN(const auto buffers, batch.vector(2, 16));
  if (buffers.count != schema.num_buffers)
    return corrupt("arrow: wants " + std::to_string(schema.num_buffers) + " buffers in a record batch, got " +
                   std::to_string(buffers.count));
  std::vector<ArrowPiece> pieces(buffers.count);
  for (size_t i = 0; i < pieces.size(); ++i) {
    pieces[i] = {load<uint64_t>(buffers.bytes.data() + 16 * i),
                 load<uint64_t>(buffers.bytes.data() + 16 * i + 8)};
    if (!within(pieces[i].offset, pieces[i].length, body_length))
      return corrupt("arrow: buffer " + std::to_string(i) + " lies outside its record batch, byte " +
                     std::to_string(pieces[i].offset) + " of " + std::to_string(body_length));
  }
  return pieces;
}

}  // namespace

Result<ArrowBatch> ArrowBatch::read(std::span<const std::byte> message, uint64_t body_length,
                                    const ArrowSchema& schema, const std::vector<ArrowColumn>& columns) {
  if (message.size() < 8) return corrupt("arrow: a message is cut short");
  // Before 0.15 the continuation marker was not there.
  const size_t prefix = load<uint32_t>(message.data()) == 0xffffffffu ? 8 : 4;
  const auto length = load<uint32_t>(message.data() + prefix - 4);
  if (length > message.size() - prefix)
    return corrupt("arrow: a message's metadata wants " + std::to_string(length) + " bytes, got " +
                   std::to_string(message.size() - prefix));
  HEADRACE_ASSIGN(const FlatTable root, FlatTable::root(message.subspan(prefix, length)));
  HEADRACE_ASSIGN(const auto kind, root.number<uint8_t>(1, 0));
  HEADRACE_ASSIGN(const auto header, root.table(2));
  HEADRACE_ASSIGN(const auto stated, root.number<uint64_t>(3, 0));
  if (kind != kRecordBatch || !header)
    return corrupt("arrow: wants a record batch, got message " + std::to_string(kind));
  if (stated > body_length)
    return corrupt("arrow: a body of " + std::to_string(stated) + " bytes, the footer says " +
                   std::to_string(body_length));
  ArrowBatch batch;
  HEADRACE_ASSIGN(batch.num_rows, header->number<uint64_t>(0, 0));
  if (batch.num_rows / kMaxRowsPerByte > body_length)
    return corrupt("arrow: " + std::to_string(batch.num_rows) + " rows in " + std::to_string(body_length) +
                   " bytes");
  HEADRACE_TRY(check_nodes(*header, batch.num_rows, schema, columns));
  HEADRACE_ASSIGN(batch.pieces, read_pieces(*header, stated, schema));
  HEADRACE_ASSIGN(const auto compression, header->table(3));
  if (compression) {
    HEADRACE_ASSIGN(const auto codec, compression->number<int8_t>(0, 0));
    HEADRACE_ASSIGN(const auto method, compression->number<int8_t>(1, 0));
    if (codec < 0 || codec > 1 || method != 0)
      return Status(Code::unavailable, "arrow: unknown compression " + std::to_string(codec));
    batch.codec = static_cast<ArrowCodec>(codec);
  }
  return batch;
}

int num_buffers(const ArrowColumn& column) {
  switch (column.layout) {
    case ArrowLayout::fixed: return 2;
    case ArrowLayout::binary: return 3;
    case ArrowLayout::list: return 4;
    case ArrowLayout::other: break;
  }
  return 0;
}

namespace {

// The bytes of one column: fixed values, or runs between offsets. Its buffers are shared with every tensor
// served.
struct ServedColumn {
  DType dtype = DType::u8;
  ArrowBytes offsets, values;  // offsets empty: one value per row
  int offset_size = 4;

  uint64_t offset(uint64_t row) const {
    const std::byte* at = offsets.buffer->data() + offsets.offset + row * static_cast<uint64_t>(offset_size);
    return offset_size == 8 ? load<uint64_t>(at) : load<uint32_t>(at);
  }
  Tensor at(uint64_t row) const {
    const size_t size = size_of(dtype);
    if (!offsets.buffer) return {values.buffer, values.offset + row * size, dtype, {}, nullptr};
    const uint64_t begin = offset(row), end = offset(row + 1);
    return {values.buffer, values.offset + begin * size, dtype, {static_cast<int64_t>(end - begin)}, nullptr};
  }
};

class ArrowBlock final : public Block {
 public:
  ArrowBlock(std::vector<ServedColumn> columns, uint64_t num_rows, size_t held)
      : columns_(std::move(columns)), num_rows_(num_rows), held_(held) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= num_rows_)
      return corrupt("arrow: a record batch has " + std::to_string(num_rows_) + " rows, wanted row " +
                     std::to_string(row));
    fields.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) fields[i] = columns_[i].at(row);
    return {};
  }

  bool gather(std::span<const uint64_t> rows, int field, std::byte* out) const override {
    const ServedColumn& column = columns_[static_cast<size_t>(field)];
    if (column.offsets.buffer) return false;
    const size_t size = size_of(column.dtype);
    const std::byte* values = column.values.buffer->data() + column.values.offset;
    for (size_t i = 0; i < rows.size(); ++i) std::memcpy(out + i * size, values + rows[i] * size, size);
    return true;
  }

  size_t held_bytes() const override { return held_; }

 private:
  std::vector<ServedColumn> columns_;
  uint64_t num_rows_;
  size_t held_;
};

// One linear pass: monotonic, and the last within the values.
Status check_offsets(const ServedColumn& column, uint64_t num_rows, const std::string& name) {
  if (column.offsets.size / static_cast<size_t>(column.offset_size) < num_rows + 1)
    return corrupt("arrow: wants " + std::to_string(num_rows + 1) + " offsets in column " + name + ", got " +
                   std::to_string(column.offsets.size / static_cast<size_t>(column.offset_size)));
  const uint64_t count = column.values.size / size_of(column.dtype);
  uint64_t last = column.offset(0);
  for (uint64_t row = 1; row <= num_rows; ++row) {
    const uint64_t next = column.offset(row);
    if (next < last)
      return corrupt("arrow: offsets of column " + name + " go back at row " + std::to_string(row));
    last = next;
  }
  if (last > count)
    return corrupt("arrow: offsets of column " + name + " reach " + std::to_string(last) + ", it has " +
                   std::to_string(count));
  return {};
}

}  // namespace

Result<BlockPtr> make_arrow_block(const std::vector<ArrowColumn>& columns, uint64_t num_rows,
                                  std::vector<ArrowBytes> buffers) {
  std::vector<ServedColumn> served;
  size_t next = 0, held = 0;
  for (const ArrowBytes& bytes : buffers) held += bytes.made ? bytes.buffer->size() : 0;
  for (const ArrowColumn& column : columns) {
    ServedColumn out{column.dtype, {}, {}, column.offset_size};
    const size_t count = static_cast<size_t>(num_buffers(column));
    out.values = buffers[next + count - 1];
    if (column.layout == ArrowLayout::fixed) {
      if (out.values.size / size_of(column.dtype) < num_rows)
        return corrupt("arrow: wants " + std::to_string(num_rows) + " values in column " + column.name +
                       ", got " + std::to_string(out.values.size / size_of(column.dtype)));
    } else {
      out.offsets = buffers[next + 1];
      if (num_rows > 0) HEADRACE_TRY(check_offsets(out, num_rows, column.name));
    }
    next += count;
    served.push_back(std::move(out));
  }
  return BlockPtr(std::make_shared<ArrowBlock>(std::move(served), num_rows, held));
}

}  // namespace headrace::trial
