#include "headrace/formats/zarr/rows.h"

#include <algorithm>
#include <cstring>

#include "headrace/codecs/packed/unpack.h"
#include "headrace/core/little_endian.h"
#include "headrace/core/saturate.h"

namespace headrace::zarr {
namespace {

// Bytes that codecs may add to an incompressible chunk. With a larger limit, many chunks that share bytes
// of a shard could take more than the shard.
constexpr uint64_t kMostAddedInShard = 4 << 10;

}  // namespace

Tensor Rows::row(const Field& field, uint64_t row) const {
  const Element& element = field.array.element;
  if (!element.is_text()) {
    const uint64_t size = field.array.row_bytes();
    return {numbers, (row - first) * size, element.dtype, field.array.spec().shape, nullptr};
  }
  const uint64_t here = row - first;
  const Texts& chunk = texts[here / rows_each];
  const Texts::Place at = chunk[here % rows_each];
  return {chunk.bytes, at.offset, element.dtype, Shape{static_cast<int64_t>(at.length)}, nullptr};
}

bool ReadRows::is_plain() const {
  const Array& array = field_.array;
  return !array.element.is_text() && array.cells_are_rows() && array.cell_chain().is_plain(array.element);
}

Result<std::vector<Extent>> ReadRows::advance(std::span<const BufferPtr> bytes) {
  if (stage_ == Stage::start) {
    find_cells();
    stage_ = Stage::indexes;
    if (field_.array.has_index()) {
      HEADRACE_ASSIGN(std::vector<Extent> wanted, ask_indexes());
      if (!wanted.empty()) return wanted;
    }
  }
  if (stage_ == Stage::indexes) {
    HEADRACE_TRY(take_indexes(bytes));
    stage_ = Stage::cells;
    std::vector<Extent> wanted = ask_cells();
    if (!wanted.empty()) return wanted;
    bytes = {};
  }
  if (stage_ == Stage::cells) {
    stage_ = Stage::done;
    HEADRACE_TRY(take_cells(bytes));
  }
  return std::vector<Extent>();
}

// Finds the cells that have a file. Coordinates are counted up over the grid like digits.
void ReadRows::find_cells() {
  const Array& array = field_.array;
  const Dims& cell = array.cell();
  const size_t rank = cell.size();
  if (rows_.begin >= rows_.end || array.row_bytes() == 0) {
    if (!array.element.is_text()) return;
    if (rows_.begin >= rows_.end) return;
  }
  Dims at(rank), counts(rank);
  for (size_t i = 1; i < rank; ++i) counts[i] = count_along(array.shape[i], cell[i]);
  const uint64_t last = (rows_.end - 1) / cell[0];
  for (at[0] = rows_.begin / cell[0]; at[0] <= last;) {
    ++all_;
    uint64_t number = 0, in_shard = 0;
    for (size_t i = 0; i < rank; ++i) {
      const uint64_t each = array.chunk[i] / cell[i];
      number = number * count_along(array.shape[i], array.chunk[i]) + at[i] / each;
      in_shard = in_shard * each + at[i] % each;
    }
    size_t place = 0;
    if (field_.find(number, &place)) cells_.push_back({at, place, in_shard});
    size_t i = rank - 1;
    while (i > 0 && ++at[i] == counts[i]) at[i--] = 0;
    if (i == 0) ++at[0];
  }
}

Status ReadRows::named(const Cell& cell, Status status) const {
  if (status.ok()) return status;
  return std::move(status).after(" (chunk " + chunk_key(field_.array, cell.at) + " of '" + field_.name +
                                 "')");
}

RowRange ReadRows::rows_of(const Cell& cell) const {
  const uint64_t begin = cell.at[0] * field_.array.cell()[0];
  return {std::max(begin, rows_.begin), std::min(begin + field_.array.cell()[0], rows_.end)};
}

Result<std::vector<Extent>> ReadRows::ask_indexes() {
  std::vector<Extent> out;
  if (!field_.indexes.empty()) return out;
  const Array& array = field_.array;
  const Sharding& sharding = *array.chain.sharding;
  const uint64_t bytes = sharding.index_bytes(array.chunks_in_shard());
  for (const Cell& cell : cells_) asked_.push_back(cell.chunk);
  std::ranges::sort(asked_);
  const auto same = std::ranges::unique(asked_);
  asked_.erase(same.begin(), same.end());
  for (const size_t chunk : asked_)
    out.push_back({field_.chunks[chunk].file, sharding.index_at_end ? kAtEnd : 0, bytes});
  return out;
}

Status ReadRows::place_in_shard(Cell& cell, const BufferPtr& index) {
  cell.begin = load<uint64_t>(index->data() + 16 * cell.in_shard);
  const auto length = load<uint64_t>(index->data() + 16 * cell.in_shard + 8);
  if (cell.begin == kNoChunk && length == kNoChunk) {
    cell.end = 0;
    return {};
  }
  if (length > kMostChunkBytes || cell.begin > kNoChunk - length)
    return named(cell, corrupt({.expected = "a chunk inside its shard",
                                .got = std::to_string(length) + " bytes at " + std::to_string(cell.begin)}));
  const Array& array = field_.array;
  const uint64_t most = saturating_add(saturating_mul(array.cell_bytes(), 2), kMostAddedInShard);
  if (!array.element.is_text() && !array.cell_chain().sharding && length > most)
    return named(cell,
                 corrupt({.expected = "a chunk of at most " + std::to_string(most) + " bytes in its shard",
                          .got = std::to_string(length)}));
  cell.end = cell.begin + length;
  return {};
}

Status ReadRows::take_indexes(std::span<const BufferPtr> bytes) {
  const Array& array = field_.array;
  if (!array.has_index()) return {};
  std::vector<BufferPtr> read;
  for (const BufferPtr& one : bytes) {
    HEADRACE_ASSIGN(BufferPtr index, decode_index(*array.chain.sharding, array.chunks_in_shard(), one));
    read.push_back(std::move(index));
  }
  for (Cell& cell : cells_) {
    const auto place = static_cast<size_t>(std::ranges::lower_bound(asked_, cell.chunk) - asked_.begin());
    HEADRACE_TRY(place_in_shard(cell, field_.indexes.empty() ? read[place] : field_.indexes[cell.chunk]));
  }
  std::erase_if(cells_, [](const Cell& cell) { return cell.end == 0 && cell.begin == kNoChunk; });
  return {};
}

std::vector<Extent> ReadRows::ask_cells() {
  std::vector<Extent> out;
  const uint64_t row = field_.array.row_bytes();
  for (const Cell& cell : cells_) {
    const uint64_t file = field_.chunks[cell.chunk].file;
    if (!is_plain()) {
      out.push_back({file, cell.begin, cell.end == kToEnd ? kToEnd : cell.end - cell.begin});
      continue;
    }
    const RowRange rows = rows_of(cell);
    const uint64_t skipped = rows.begin - cell.at[0] * field_.array.cell()[0];
    const uint64_t begin = cell.begin + skipped * row;
    out.push_back({file, begin, rows.size() * row, begin % field_.array.element.bytes == 0});
  }
  return out;
}

Status ReadRows::take_cells(std::span<const BufferPtr> bytes) {
  if (bytes.size() != cells_.size()) return internal_error("expected as many buffers as chunks");
  out_.first = rows_.begin;
  if (field_.array.element.is_text()) return take_texts(bytes);
  return is_plain() ? take_plain(bytes) : take_numbers(bytes);
}

// If the rows are in one file, they are its bytes.
Status ReadRows::take_plain(std::span<const BufferPtr> bytes) {
  const Array& array = field_.array;
  const uint64_t row = array.row_bytes();
  for (size_t i = 0; i < cells_.size(); ++i) {  // chunks of a shard were not read whole, so check their size
    const uint64_t length = cells_[i].end - cells_[i].begin;
    if (cells_[i].end != kToEnd && length != array.cell_bytes())
      return named(cells_[i],
                   corrupt({.expected = "a chunk of " + std::to_string(array.cell_bytes()) + " bytes",
                            .got = std::to_string(length)}));
  }
  if (cells_.size() == 1 && all_ == 1) {
    out_.numbers = bytes[0];
    return {};
  }
  if (cells_.empty()) HEADRACE_TRY(check_unpacked_size(0, rows_.size() * row));
  const MutableBufferPtr made = HeapBuffer::make(rows_.size() * row);
  out_.held = made->size();
  if (cells_.size() < all_) fill_elements(array.fill, {made->mutable_data(), made->size()});
  for (size_t i = 0; i < cells_.size(); ++i) {
    const uint64_t at = (rows_of(cells_[i]).begin - rows_.begin) * row;
    if (bytes[i]->size() > 0) std::memcpy(made->mutable_data() + at, bytes[i]->data(), bytes[i]->size());
  }
  out_.numbers = made;
  return {};
}

Status ReadRows::take_texts(std::span<const BufferPtr> bytes) {
  const Array& array = field_.array;
  const uint64_t each = array.cell()[0], first = rows_.begin / each;
  out_.first = first * each, out_.rows_each = each;
  out_.texts.resize(all_);
  for (size_t i = 0; i < cells_.size(); ++i) {
    auto texts = decode_texts(array.cell_chain(), array.element, each, bytes[i]);
    if (!texts.ok()) return named(cells_[i], texts.status());
    out_.texts[cells_[i].at[0] - first] = *std::move(texts);
  }
  for (Texts& chunk : out_.texts) {
    if (!chunk.bytes) chunk = repeated_text(array.fill);
    out_.held += chunk.bytes->size() + chunk.places.size() * sizeof(Texts::Place);
  }
  return {};
}

Status ReadRows::take_numbers(std::span<const BufferPtr> bytes) {
  const Array& array = field_.array;
  const Chain& chain = array.cell_chain();
  const Dims& cell = array.cell();
  const uint64_t row = array.row_bytes(), cell_bytes = array.cell_bytes();
  for (size_t i = 0; i < cells_.size(); ++i)  // before memory is allocated for them
    if (chain.is_plain(array.element) && bytes[i]->size() != cell_bytes)
      return named(cells_[i], corrupt({.expected = "a chunk of " + std::to_string(cell_bytes) + " bytes",
                                       .got = std::to_string(bytes[i]->size())}));
    else
      HEADRACE_TRY(named(cells_[i], check_unpacked_size(bytes[i]->size(), cell_bytes)));
  const bool is_direct = array.cells_are_rows();  // whole chunks, contiguous
  const uint64_t begin = is_direct ? rows_.begin / cell[0] * cell[0] : rows_.begin;
  const uint64_t size = is_direct ? all_ * cell_bytes : rows_.size() * row;
  uint64_t packed = 0;
  for (const BufferPtr& one : bytes) packed += one->size();
  HEADRACE_TRY(check_unpacked_size(packed, size));
  const MutableBufferPtr made = HeapBuffer::make(size);
  const std::span<std::byte> all{made->mutable_data(), made->size()};
  out_.first = begin, out_.numbers = made, out_.held = made->size();
  if (cells_.size() < all_ || all_ == 0) fill_elements(array.fill, all);
  std::vector<std::byte> plain(is_direct || cells_.empty() ? 0 : cell_bytes);
  const Dims strides = strides_of(chain, cell, array.element.bytes);
  Box target{Dims(cell.size(), 0), array.shape};
  target.origin[0] = rows_.begin, target.size[0] = rows_.size();
  for (size_t i = 0; i < cells_.size(); ++i) {
    const Cell& one = cells_[i];
    const std::span<std::byte> to = is_direct ? all.subspan((one.at[0] * cell[0] - begin) * row, cell_bytes)
                                              : std::span<std::byte>(plain);
    HEADRACE_TRY(named(one, decode(chain, array.element, cell, array.fill, bytes[i]->bytes(), to)));
    if (is_direct) continue;
    Box box{Dims(cell.size()), cell};
    for (size_t axis = 0; axis < cell.size(); ++axis) box.origin[axis] = one.at[axis] * cell[axis];
    place_cell(box, strides, target, array.element.bytes, plain, made->mutable_data());
  }
  return {};
}

}  // namespace headrace::zarr
