#include <algorithm>
#include <cstring>
#include <optional>

#include "headrace/core/saturate.h"
#include "headrace/formats/parquet/chunk_reader.h"
#include "headrace/formats/parquet/table.h"

namespace headrace::parquet {
namespace {

// Columns that are this close together are one read, while it is small: its bytes stay in memory as long as
// any string of it.
constexpr uint64_t kBetween = 4 << 10, kMostTogether = uint64_t{1} << 20;
// Limit on the decoded size of all columns of a part: bytes, or a ratio of their stored bytes.
constexpr uint64_t kFreeMade = uint64_t{1} << 30, kMadeRatio = 1000;

class Rows final : public Block {
 public:
  Rows(std::shared_ptr<const Table> table, std::vector<Values> columns, uint64_t count)
      : table_(std::move(table)), columns_(std::move(columns)), count_(count) {
    for (const Values& values : columns_) held_ += values.held;
  }
  // Damage applies to each of the rows; it is detected only once.
  explicit Rows(Status damage) : count_(0), damage_(std::move(damage)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (!damage_.ok()) return damage_;
    if (row >= count_)
      return invalid({.expected = "a row below " + std::to_string(count_), .got = std::to_string(row)})
          .in_format("parquet");
    fields.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i)
      HEADRACE_TRY(columns_[i].at(row, table_->nulls[i], fields[i]).in_format("parquet"));
    return {};
  }
  bool is_null(uint64_t row, int field) const override {
    return columns_[static_cast<size_t>(field)].is_null(row);
  }
  bool gather(std::span<const uint64_t> rows, int field, std::byte* out) const override {
    if (!has_all(rows)) return false;
    const Values& values = columns_[static_cast<size_t>(field)];
    if (!values.is_plain()) return false;
    copy_rows(values, rows, out);
    return true;
  }
  bool append(std::span<const uint64_t> rows, int field, std::vector<Tensor>& out) const override {
    if (!has_all(rows)) return false;
    const Values& values = columns_[static_cast<size_t>(field)];
    if (!has_no_nulls(values)) return false;
    for (const uint64_t row : rows)
      (void)values.at(row, table_->nulls[static_cast<size_t>(field)], out.emplace_back());
    return true;
  }
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    if (!has_all(rows)) return 0;
    for (size_t f = 0; f < to.size(); ++f)
      if (to[f].values ? !columns_[f].is_plain() : !has_no_nulls(columns_[f])) return 0;
    for (size_t f = 0; f < to.size(); ++f) {
      if (to[f].values)
        copy_rows(columns_[f], rows, to[f].values);
      else if (to[f].texts)
        share_texts(columns_[f], rows, *to[f].texts);
      else
        for (size_t i = 0; i < rows.size(); ++i)
          (void)columns_[f].at(rows[i], table_->nulls[f], to[f].tensors[i]);
    }
    return rows.size();
  }
  size_t held_bytes() const override { return held_; }

 private:
  // REQUIRES: is_plain().
  static void copy_rows(const Values& values, std::span<const uint64_t> rows, std::byte* out) {
    const uint64_t size = values.column->row_bytes();
    if (size == 0) return;
    const std::byte* data = values.data->data() + values.first * size;
    for (size_t i = 0; i < rows.size();) {  // runs of adjacent rows
      size_t end = i + 1;
      while (end < rows.size() && rows[end] == rows[i] + (end - i)) ++end;
      std::memcpy(out + i * size, data + rows[i] * size, (end - i) * size);
      i = end;
    }
  }
  // REQUIRES: has_no_nulls().
  static void share_texts(const Values& values, std::span<const uint64_t> rows, TextRows& out) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const Piece& piece = values.pieces[values.first + rows[i]];
      const BufferPtr& buffer = values.buffers[piece.buffer];
      out.set(i, buffer, buffer->bytes().subspan(piece.offset, static_cast<size_t>(piece.length)));
    }
  }
  static bool has_no_nulls(const Values& values) {
    return values.null_rows.empty() && values.null_items.empty() && values.is_right();
  }
  bool has_all(std::span<const uint64_t> rows) const {
    return damage_.ok() && std::ranges::all_of(rows, [&](uint64_t row) { return row < count_; });
  }

  std::shared_ptr<const Table> table_;
  std::vector<Values> columns_;
  uint64_t count_;
  size_t held_ = 0;
  Status damage_;
};

// The bytes of a column to read: those before its data pages (a dictionary), and the pages with the rows.
struct Pieces {
  Extent before, pages;
  uint64_t first_row = 0, end_row = 0;  // of the pages
};

Pieces pieces_of(const TableChunk& chunk, const Part& part, uint64_t group_rows) {
  if (chunk.pages.empty())
    return {{part.file, chunk.offset, 0}, {part.file, chunk.offset, chunk.size}, 0, group_rows};
  const auto rank = [&](uint64_t row) {
    return std::ranges::upper_bound(chunk.pages, row, {}, &PagePlace::first_row) - 1;
  };
  const auto first = rank(part.first), last = rank(part.first + part.rows - 1);
  Pieces out;
  const uint64_t head = chunk.pages[0].offset - chunk.offset;
  out.before = {part.file, chunk.offset, head};
  out.pages = {part.file, first->offset, last->offset + last->size - first->offset};
  if (first == chunk.pages.begin()) out.pages.offset -= head, out.pages.length += head, out.before.length = 0;
  out.first_row = first->first_row;
  out.end_row = last + 1 == chunk.pages.end() ? group_rows : (last + 1)->first_row;
  return out;
}

class OpenPart final : public Opening<BlockPtr> {
 public:
  OpenPart(std::shared_ptr<const Table> table, size_t part)
      : table_(std::move(table)),
        part_(table_->parts[part]),
        file_(table_->files[part_.file]),
        group_(file_.groups[part_.group]) {}

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty() && !group_.chunks.empty()) return Step<BlockPtr>(ask());
    std::vector<Values> columns(pieces_.size());
    uint64_t packed = 0;
    for (const Pieces& pieces : pieces_) packed += pieces.before.length + pieces.pages.length;
    uint64_t left = std::max(kFreeMade, saturating_mul(kMadeRatio, packed));
    Status status = check_values(left);
    if (!status.ok()) return Step<BlockPtr>(std::make_shared<Rows>(std::move(status).in_format("parquet")));
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (texts_of(i)) continue;
      auto values = read(i, bytes, left);
      if (!values.ok()) return Step<BlockPtr>(std::make_shared<Rows>(values.status().in_format("parquet")));
      columns[i] = *std::move(values);
    }
    for (size_t i = 0; i < pieces_.size(); ++i)
      if (const auto texts = texts_of(i)) columns[i] = columns[*texts].lengths((*file_.columns)[i]);
    return Step<BlockPtr>(std::make_shared<Rows>(table_, std::move(columns), part_.rows));
  }

 private:
  // The location of a wanted extent in those that were read.
  struct At {
    size_t read = 0, offset = 0;
  };

  // For a column of lengths: the column of the strings, if chosen too. They are then read once for both.
  std::optional<size_t> texts_of(size_t i) const {
    const Column& column = (*file_.columns)[i];
    if (column.change != Change::to_length) return std::nullopt;
    const auto is_other = [&](size_t other) {
      return other < file_.columns->size() && (*file_.columns)[other].leaf == column.leaf;
    };
    // They are adjacent, or each is read.
    if (is_other(i + 1)) return i + 1;
    if (i > 0 && is_other(i - 1)) return i - 1;
    return std::nullopt;
  }

  std::vector<Extent> ask() {
    std::vector<Extent> wanted;
    for (size_t i = 0; i < group_.chunks.size(); ++i) {
      pieces_.push_back(pieces_of(group_.chunks[i], part_, group_.rows));
      if (texts_of(i)) pieces_[i].before.length = pieces_[i].pages.length = 0;
      wanted.push_back(pieces_.back().before);
      wanted.push_back(pieces_.back().pages);
    }
    std::vector<size_t> order(wanted.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](size_t i) { return wanted[i].offset; });
    std::vector<Extent> reads;
    places_.resize(wanted.size());
    for (const size_t i : order) {
      const Extent& one = wanted[i];
      if (!reads.empty()) {
        Extent& last = reads.back();
        const uint64_t end = std::max(last.offset + last.length, one.offset + one.length);
        if (one.offset <= last.offset + last.length + kBetween && end - last.offset <= kMostTogether) {
          last.length = end - last.offset;
          places_[i] = {reads.size() - 1, one.offset - last.offset};
          continue;
        }
      }
      reads.push_back(one);
      places_[i] = {reads.size() - 1, 0};
    }
    return reads;
  }

  // Before any column is read, using the numbers of values in the footer.
  Status check_values(uint64_t most) const {
    uint64_t bytes = 0;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const uint64_t rows = pieces_[i].end_row - pieces_[i].first_row;
      const uint64_t values = group_.chunks[i].pages.empty() ? group_.chunks[i].values : rows;
      bytes = saturating_add(bytes, saturating_mul(values, (*file_.columns)[i].value_size()));
    }
    if (bytes <= most) return {};
    return {Code::exhausted,
            Mismatch{.expected = "a row group of at most " + std::to_string(most) + " bytes of values",
                     .got = std::to_string(bytes),
                     .fix = "select fewer with columns="}};
  }

  // `left`: bytes that may still be allocated; reduced by those of this column.
  Result<Values> read(size_t i, std::span<const BufferPtr> bytes, uint64_t& left) const {
    const TableChunk& chunk = group_.chunks[i];
    const Pieces& pieces = pieces_[i];
    const auto part_of = [&](size_t place, const Extent& extent) {
      return Bytes{bytes[places_[place].read], places_[place].offset, extent.length};
    };
    ChunkReader reader((*file_.columns)[i], chunk.codec, pieces.before.length + pieces.pages.length,
                       std::min(left, ChunkReader::kMostMade));
    const bool is_whole = chunk.pages.empty();
    if (pieces.before.length > 0)
      HEADRACE_TRY(reader.read(part_of(2 * i, pieces.before), pieces.before.offset));
    HEADRACE_TRY(reader.read(part_of(2 * i + 1, pieces.pages), pieces.pages.offset,
                             is_whole ? chunk.values : ChunkReader::kToEnd));
    HEADRACE_ASSIGN(Values out, reader.finish(pieces.end_row - pieces.first_row));
    left -= std::min(left, reader.made());
    out.first = part_.first - pieces.first_row;
    return out;
  }

  std::shared_ptr<const Table> table_;
  const Part& part_;
  const TableFile& file_;
  const TableGroup& group_;
  std::vector<Pieces> pieces_;
  std::vector<At> places_;  // two for each column
};

}  // namespace

std::unique_ptr<Opening<BlockPtr>> open_part(std::shared_ptr<const Table> table, size_t part) {
  return std::make_unique<OpenPart>(std::move(table), part);
}

}  // namespace headrace::parquet
