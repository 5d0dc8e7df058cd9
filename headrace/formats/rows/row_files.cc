#include "headrace/formats/rows/row_files.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "headrace/core/consecutive.h"
#include "headrace/formats/format.h"
#include "headrace/formats/records/record_files.h"

namespace headrace {
namespace {

constexpr uint64_t kBlock = 64 << 10;     // bytes of a block, unless a row is longer
constexpr uint64_t kColumn = 4 << 10;     // approximate bytes of a column in a block in Fortran order
constexpr uint64_t kMostBlock = 8 << 20;  // bytes of such a block, unless a row is longer

// The bytes of the file that a sample needs, if they are in one place.
struct OnePlace {
  uint64_t file = 0, offset = 0, stride = 0, bytes = 0;
};

struct LaidPart {
  RowPart part;
  uint64_t rows_each = 1;       // per block
  std::optional<OnePlace> one;  // nothing if a sample is in several places, or in memory
};

// Shared by source and blocks: blocks may outlive their source.
struct Laid {
  RowTable table;
  Schema schema;
  std::vector<LaidPart> parts;
  std::vector<uint64_t> first = {0};  // rows in earlier parts; the total at its end

  size_t part_of(uint64_t index) const {
    if (parts.size() == 1) return 0;
    return static_cast<size_t>(std::ranges::upper_bound(first, index) - first.begin() - 1);
  }
};

std::optional<OnePlace> one_place(const RowPart& part) {
  std::optional<OnePlace> out;
  for (const FieldRows& rows : part.fields) {
    if (rows.held) continue;
    if (rows.numbers != 0) return std::nullopt;
    if (!out) {
      out = OnePlace{rows.file, rows.offset, rows.stride, rows.bytes};
      continue;
    }
    const uint64_t begin = std::min(out->offset, rows.offset);
    const uint64_t end = std::max(out->offset + out->bytes, rows.offset + rows.bytes);
    if (rows.file != out->file || rows.stride != out->stride || end - begin > rows.stride)
      return std::nullopt;
    out->offset = begin, out->bytes = end - begin;
  }
  return out;
}

uint64_t rows_of_block(const RowPart& part) {
  uint64_t bytes = 0, columns = 0;
  for (const FieldRows& rows : part.fields) {
    if (rows.held) continue;
    bytes += rows.bytes;
    if (rows.numbers > 1) columns = std::max(columns, kColumn / rows.item);
  }
  if (bytes == 0) return std::max<uint64_t>(part.rows, 1);
  const uint64_t most = std::max<uint64_t>(1, (columns > 0 ? kMostBlock : kBlock) / bytes);
  return columns > 0 ? std::min(most, std::max(columns, kBlock / bytes)) : most;
}

// Bytes of a field that were read for a block: one buffer and the position of row 0 in it, or, in Fortran
// order, a buffer for each number of a row.
struct Loaded {
  std::vector<BufferPtr> buffers = {};
  size_t begin = 0;
};

Tensor converted(const TensorSpec& spec, const FieldRows& rows, std::span<const std::byte> stored) {
  const MutableBufferPtr made = HeapBuffer::make(std::max<size_t>(spec.size_bytes(), 1));
  if (rows.convert)
    rows.convert(stored, 1, made->mutable_data());
  else if (!stored.empty())
    std::memcpy(made->mutable_data(), stored.data(), stored.size());
  return {made, 0, spec.dtype, spec.shape, nullptr};
}

// A row that begins at `at` in a buffer.
Tensor row_at(const TensorSpec& spec, const FieldRows& rows, const BufferPtr& buffer, size_t at) {
  if (rows.convert) return converted(spec, rows, buffer->bytes().subspan(at, rows.bytes));
  return {buffer, at, spec.dtype, spec.shape, nullptr};
}

void write_row(const FieldRows& rows, std::span<const std::byte> stored, std::byte* out) {
  if (rows.convert)
    rows.convert(stored, 1, out);
  else if (!stored.empty())
    std::memcpy(out, stored.data(), stored.size());
}

Status no_row(const Laid& laid, uint64_t count, uint64_t row) {
  return invalid({.expected = "a row below " + std::to_string(count), .got = std::to_string(row)})
      .in_format(laid.table.format);
}

// Adjacent rows of one part.
class RowsBlock final : public Block {
 public:
  RowsBlock(std::shared_ptr<const Laid> laid, size_t part, uint64_t begin, uint64_t count,
            std::vector<Loaded> loaded)
      : laid_(std::move(laid)),
        part_(laid_->parts[part].part),
        begin_(begin),
        count_(count),
        loaded_(std::move(loaded)) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= count_) return no_row(*laid_, count_, row);
    fields.resize(part_.fields.size());
    for (size_t i = 0; i < fields.size(); ++i) {
      const FieldRows& rows = part_.fields[i];
      const TensorSpec& spec = laid_->table.fields[i].spec;
      if (rows.numbers == 0) {
        fields[i] = row_at(spec, rows, buffer_of(i), at(i, row));
        continue;
      }
      std::vector<std::byte> stored(rows.bytes);
      for (uint64_t k = 0; k < rows.numbers; ++k)
        std::memcpy(stored.data() + k * rows.item, loaded_[i].buffers[k]->data() + row * rows.item,
                    rows.item);
      fields[i] = converted(spec, rows, stored);
    }
    return {};
  }

  bool gather(std::span<const uint64_t> rows, int field, std::byte* out) const override {
    const auto f = static_cast<size_t>(field);
    const FieldRows& from = part_.fields[f];
    if (from.numbers > 0 || std::ranges::any_of(rows, [&](uint64_t row) { return row >= count_; }))
      return false;
    const size_t size = laid_->table.fields[f].spec.size_bytes();
    const bool lie_side_by_side = !from.convert && from.stride == from.bytes;
    for (size_t i = 0, run = 0; i < rows.size(); i += run) {
      run = lie_side_by_side ? num_consecutive(rows.subspan(i)) : 1;
      write_row(from, buffer_of(f)->bytes().subspan(at(f, rows[i]), from.bytes * run), out + i * size);
    }
    return true;
  }

 private:
  const BufferPtr& buffer_of(size_t field) const {
    const FieldRows& rows = part_.fields[field];
    return rows.held ? rows.held : loaded_[field].buffers[0];
  }
  size_t at(size_t field, uint64_t row) const {
    const FieldRows& rows = part_.fields[field];
    return rows.held ? rows.offset + (begin_ + row) * rows.stride : loaded_[field].begin + row * rows.stride;
  }

  std::shared_ptr<const Laid> laid_;
  const RowPart& part_;
  uint64_t begin_, count_;
  std::vector<Loaded> loaded_;  // of each field; empty for those in memory
};

// Rows from any places, each read in one piece.
class ScatteredRows final : public Block {
 public:
  ScatteredRows(std::shared_ptr<const Laid> laid, std::vector<uint64_t> indices, std::vector<size_t> at,
                BufferPtr bytes)
      : laid_(std::move(laid)), indices_(std::move(indices)), at_(std::move(at)), bytes_(std::move(bytes)) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= at_.size()) return no_row(*laid_, at_.size(), row);
    const size_t ordinal = laid_->part_of(indices_[row]);
    const LaidPart& laid = laid_->parts[ordinal];
    const uint64_t in_part = indices_[row] - laid_->first[ordinal];
    fields.resize(laid.part.fields.size());
    for (size_t i = 0; i < fields.size(); ++i) {
      const FieldRows& rows = laid.part.fields[i];
      const TensorSpec& spec = laid_->table.fields[i].spec;
      fields[i] = rows.held ? row_at(spec, rows, rows.held, rows.offset + in_part * rows.stride)
                            : row_at(spec, rows, bytes_, at_[row] + rows.offset - laid.one->offset);
    }
    return {};
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    return put_each(*this, rows, to);
  }

 private:
  std::shared_ptr<const Laid> laid_;
  std::vector<uint64_t> indices_;
  std::vector<size_t> at_;
  BufferPtr bytes_;
};

class OpenRowsBlock final : public Opening<BlockPtr> {
 public:
  OpenRowsBlock(std::shared_ptr<const Laid> laid, size_t part, uint64_t begin, uint64_t count)
      : laid_(std::move(laid)), part_(part), begin_(begin), count_(count) {}

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    const LaidPart& laid = laid_->parts[part_];
    if (bytes.empty()) {
      std::vector<Extent> extents = laid.one ? std::vector{extent_of(*laid.one)} : extents_of(laid.part);
      if (!extents.empty()) return Step<BlockPtr>(std::move(extents));
    }
    std::vector<Loaded> loaded(laid.part.fields.size());
    for (size_t i = 0; i < loaded.size(); ++i) {
      const FieldRows& rows = laid.part.fields[i];
      if (rows.held) continue;
      if (laid.one) {
        loaded[i] = {{bytes[0]}, rows.offset - laid.one->offset};
        continue;
      }
      const auto mine = bytes.first(std::max<uint64_t>(rows.numbers, 1));
      loaded[i].buffers.assign(mine.begin(), mine.end());
      bytes = bytes.subspan(mine.size());
    }
    return Step<BlockPtr>(
        std::make_shared<RowsBlock>(std::move(laid_), part_, begin_, count_, std::move(loaded)));
  }

 private:
  Extent extent_of(const OnePlace& one) const {
    // Elements of a mapped file may be unaligned; those that are read are aligned like the memory they are
    // read to.
    const bool is_aligned = one.offset % alignof(std::max_align_t) == 0 && one.stride == one.bytes;
    const uint64_t length = count_ == 0 ? 0 : (count_ - 1) * one.stride + one.bytes;
    return {one.file, one.offset + begin_ * one.stride, length, is_aligned};
  }

  std::vector<Extent> extents_of(const RowPart& part) const {
    std::vector<Extent> out;
    for (const FieldRows& rows : part.fields) {
      if (rows.held) continue;
      for (uint64_t k = 0; k < rows.numbers; ++k)
        out.push_back({rows.file, rows.offset + (k * part.rows + begin_) * rows.item, count_ * rows.item});
      if (rows.numbers == 0) out.push_back(extent_of({rows.file, rows.offset, rows.stride, rows.bytes}));
    }
    return out;
  }

  std::shared_ptr<const Laid> laid_;
  size_t part_;
  uint64_t begin_, count_;
};

// A block is identified by its first row.
class RowFilesSource final : public Source {
 public:
  explicit RowFilesSource(std::shared_ptr<const Laid> laid) : laid_(std::move(laid)) {
    const auto is_held = [](const FieldRows& rows) { return rows.held != nullptr; };
    is_held_ = laid_->parts.size() == 1 && std::ranges::all_of(laid_->parts[0].part.fields, is_held);
  }

  const Schema& schema() const override { return laid_->schema; }
  uint64_t size() const override { return laid_->first.back(); }
  Place place(uint64_t index) const override {
    const size_t part = laid_->part_of(index);
    const uint64_t row = index - laid_->first[part], in_block = row % laid_->parts[part].rows_each;
    return {index - in_block, in_block};
  }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t block) const override {
    if (size() == 0) return std::make_unique<OpenRowsBlock>(laid_, 0, 0, 0);
    const size_t part = laid_->part_of(block);
    const LaidPart& laid = laid_->parts[part];
    const uint64_t begin = block - laid_->first[part];
    return std::make_unique<OpenRowsBlock>(laid_, part, begin,
                                           std::min(laid.rows_each, laid.part.rows - begin));
  }
  bool extents(std::span<const uint64_t> indices, std::span<Extent> out) const override {
    for (size_t i = 0; i < indices.size(); ++i) {
      const size_t part = laid_->part_of(indices[i]);
      out[i] = {};
      if (const auto& one = laid_->parts[part].one)
        out[i] = {one->file, one->offset + (indices[i] - laid_->first[part]) * one->stride, one->bytes};
    }
    return true;
  }
  BlockPtr together(std::vector<uint64_t> indices, std::vector<size_t> at, BufferPtr bytes) const override {
    return std::make_shared<ScatteredRows>(laid_, std::move(indices), std::move(at), std::move(bytes));
  }
  uint64_t num_files() const override { return laid_->table.files.size(); }
  std::string file(uint64_t ordinal) const override { return laid_->table.files[ordinal].path; }
  bool resident() const override { return is_held_; }

  SamplePlace where(uint64_t index) const override {
    const size_t part = laid_->part_of(index);
    const FieldRows& rows = laid_->parts[part].part.fields[0];
    const uint64_t row = index - laid_->first[part];
    SamplePlace out{laid_->table.files[rows.file].path, ", row " + std::to_string(row), row};
    if (rows.held || rows.numbers != 0) return out;
    out.byte = rows.offset + row * rows.stride;
    out.within += " at byte " + std::to_string(*out.byte);
    return out;
  }
  Value describe() const override { return laid_->table.description; }

  std::string fingerprint() const override {
    const RowTable& table = laid_->table;
    std::vector<uint64_t> rows(table.files.size());
    for (const LaidPart& laid : laid_->parts)
      for (const FieldRows& one : laid.part.fields) rows[one.file] = laid.part.rows;
    return files_fingerprint(table.format + " " + schema().stable_text(), table.files, rows);
  }

  Value metadata() const override {
    Value out{Value::Object()};
    out.set("files", laid_->table.files.size());
    if (!laid_->table.left_out.is_null()) out.set("left_out", laid_->table.left_out);
    return out;
  }

 private:
  std::shared_ptr<const Laid> laid_;
  bool is_held_ = false;
};

}  // namespace

uint64_t bytes_in_file(const FieldRows& rows, uint64_t count) {
  if (count == 0) return 0;
  if (rows.numbers > 0) return count * rows.numbers * rows.item;
  return (count - 1) * rows.stride + rows.bytes;
}

void hold_rows(const TensorSpec& spec, uint64_t count, std::span<const std::byte> stored, FieldRows& rows) {
  const size_t size = spec.size_bytes();
  const MutableBufferPtr made = HeapBuffer::make(std::max<size_t>(count * size, 1));
  std::vector<std::byte> gathered(rows.numbers > 0 ? rows.bytes : 0);
  if (rows.numbers == 0 && rows.stride == rows.bytes && count > 0) {
    if (rows.convert)
      rows.convert(stored, count, made->mutable_data());
    else
      std::memcpy(made->mutable_data(), stored.data(), count * size);
  } else {
    for (uint64_t row = 0; row < count; ++row) {
      std::span<const std::byte> one = gathered;
      if (rows.numbers > 0)
        for (uint64_t k = 0; k < rows.numbers; ++k)
          std::memcpy(gathered.data() + k * rows.item, stored.data() + (k * count + row) * rows.item,
                      rows.item);
      else
        one = stored.subspan(row * rows.stride, rows.bytes);
      write_row(rows, one, made->mutable_data() + row * size);
    }
  }
  rows.held = made, rows.offset = 0, rows.stride = rows.bytes = size, rows.numbers = 0,
  rows.convert = nullptr;
}

SourcePtr row_files(RowTable table) {
  auto laid = std::make_shared<Laid>();
  std::vector<std::string> names;
  std::vector<TensorSpec> specs;
  for (const RowField& field : table.fields) names.push_back(field.name), specs.push_back(field.spec);
  laid->schema = Schema::of(std::move(names), std::move(specs));
  for (RowPart& part : table.parts) {
    LaidPart& made = laid->parts.emplace_back(LaidPart{std::move(part)});
    made.rows_each = rows_of_block(made.part);
    made.one = one_place(made.part);
    laid->first.push_back(laid->first.back() + made.part.rows);
  }
  table.parts.clear();
  laid->table = std::move(table);
  return std::make_shared<RowFilesSource>(std::move(laid));
}

}  // namespace headrace
