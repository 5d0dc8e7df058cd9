#include "headrace/formats/arrow/group.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "headrace/core/consecutive.h"
#include "headrace/formats/arrow/body.h"
#include "headrace/formats/arrow/row_places.h"
#include "headrace/formats/arrow/single_row.h"
#include "headrace/formats/put_each.h"

namespace headrace::arrow {
namespace {

constexpr uint64_t kWhole = 256 << 10;  // a batch this small is read in one piece, whatever is chosen,
                                        // unless its rows are large: those may stay in the mapped file
constexpr uint64_t kPart = 128 << 10;   // of a larger one, rows of about this many bytes
constexpr size_t kManyNeighbours = 16;  // rows: where columns need readers, reading their group is faster
constexpr uint64_t kFirstRead = 4096;   // usually all of a batch's metadata

bool is_read_whole(const TableFile& file, uint64_t batch, uint64_t rows) {
  const uint64_t length = (*file.batches)[batch].length;
  return length <= kWhole &&
         (file.contents->is_compressed || length / std::max<uint64_t>(1, rows) < kLeastMapped);
}

// Number of rows of a batch read at once. Compressed buffers are unpacked whole, so their rows stay together.
uint64_t rows_together(const Table& table, const TableFile& file, uint64_t batch, uint64_t rows) {
  const uint64_t length = (*file.batches)[batch].length;
  if (file.contents->is_compressed || is_read_whole(file, batch, rows)) return rows;
  const uint64_t each = table.row_bytes != 0 ? table.row_bytes : std::max<uint64_t>(length / rows, 1);
  return std::clamp<uint64_t>(kPart / each, 1, rows);
}

Status get_row(const std::vector<Values>& columns, uint64_t row, const std::vector<Nulls>& nulls,
               std::vector<Tensor>& fields) {
  fields.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) HEADRACE_TRY(columns[i].at(row, nulls[i], fields[i]));
  return {};
}

Status no_row(uint64_t count, uint64_t row) {
  return invalid({.expected = "a row below " + std::to_string(count), .got = std::to_string(row)})
      .in_format("arrow");
}

class Rows final : public Block {
 public:
  Rows(std::shared_ptr<const Table> table, std::vector<Values> columns, uint64_t count, size_t held)
      : table_(std::move(table)), columns_(std::move(columns)), count_(count), held_(held) {
    for (const Values& values : columns_) held_ += values.held;
  }
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= count_) return no_row(count_, row);
    return get_row(columns_, row, table_->nulls, fields).in_format("arrow");
  }
  bool is_null(uint64_t row, int field) const override {
    return columns_[static_cast<size_t>(field)].is_null(row);
  }
  bool gather(std::span<const uint64_t> rows, int field, std::byte* out) const override {
    const Values& values = columns_[static_cast<size_t>(field)];
    if (!values.is_plain() || std::ranges::any_of(rows, [&](uint64_t row) { return row >= count_; }))
      return false;
    const size_t size = values.row_bytes();
    for (size_t i = 0; i < rows.size(); ++i)
      if (size > 0) std::memcpy(out + i * size, values.data.data() + rows[i] * size, size);
    return true;
  }
  size_t held_bytes() const override { return held_; }

 private:
  std::shared_ptr<const Table> table_;
  std::vector<Values> columns_;
  uint64_t count_;
  size_t held_;
};

// A batch whose bytes, metadata first, are `bytes`.
Result<Batch> batch_in(const TableFile& file, const Bytes& bytes) {
  HEADRACE_ASSIGN(const Message message, Message::read(bytes.span()));
  HEADRACE_ASSIGN(Batch batch, Batch::of(message));
  HEADRACE_TRY(batch.fits(*file.layout));
  return batch;
}

Bytes body_in(const Bytes& bytes) {
  const uint64_t metadata = metadata_length(bytes.span());
  return {bytes.buffer, bytes.offset + metadata, bytes.size - metadata};
}

// Rows [first, first + rows) of a batch that is in memory.
Result<std::vector<Values>> read_batch(const TableFile& file, const Batch& batch, const Bytes& bytes,
                                       uint64_t first, uint64_t rows, size_t* held) {
  HEADRACE_ASSIGN(const Body body, Body::whole(*file.columns, batch, body_in(bytes)));
  HEADRACE_ASSIGN(RowsReader reader, RowsReader::make(*file.columns, batch, first, rows, file.dictionaries));
  *held += body.held();
  return body.read(batch, std::move(reader));
}

// Batches of one row, read together; each is parsed when its row is requested.
class SingleRows final : public Block {
 public:
  struct Place {
    size_t file = 0;
    uint64_t batch = 0;
    size_t at = 0;  // in `bytes`
  };
  SingleRows(std::shared_ptr<const Table> table, std::vector<Place> places, BufferPtr bytes)
      : table_(std::move(table)), places_(std::move(places)), bytes_(std::move(bytes)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= places_.size()) return no_row(places_.size(), row);
    return read(places_[row], fields).in_format("arrow");
  }
  // Metadata of batches of one row are often identical byte for byte, and are then parsed once.
  size_t put(std::span<const uint64_t> rows, std::span<const FieldPlace> to) const override {
    std::optional<Batch> batch;
    std::span<const std::byte> metadata;  // of `batch`
    size_t of = 0;                        // the file of `batch`
    return put_each(rows, to, [&](uint64_t row, std::vector<Tensor>& fields) -> Status {
      if (row >= places_.size()) return no_row(places_.size(), row);
      const Place& place = places_[row];
      const TableFile& file = table_->files[place.file];
      const Bytes bytes = bytes_of(place);
      if (!batch || of != place.file || !std::ranges::equal(metadata, head(bytes, metadata.size()))) {
        HEADRACE_ASSIGN(batch, batch_in(file, bytes));
        of = place.file;
        metadata = head(bytes, metadata_length(bytes.span()));
      }
      const Bytes body{bytes.buffer, bytes.offset + metadata.size(), bytes.size - metadata.size()};
      return read_single_row(*file.columns, *batch, body, fields) ? Status() : read(place, fields);
    });
  }

 private:
  static std::span<const std::byte> head(const Bytes& bytes, size_t size) {
    return bytes.span().first(std::min(size, bytes.size));
  }
  Bytes bytes_of(const Place& place) const {
    return {bytes_, place.at, (*table_->files[place.file].batches)[place.batch].length};
  }
  Status read(const Place& place, std::vector<Tensor>& fields) const {
    const TableFile& file = table_->files[place.file];
    const Bytes bytes = bytes_of(place);
    HEADRACE_ASSIGN(const Batch batch, batch_in(file, bytes));
    if (read_single_row(*file.columns, batch, body_in(bytes), fields)) return {};
    size_t held = 0;
    HEADRACE_ASSIGN(const std::vector<Values> columns, read_batch(file, batch, bytes, 0, 1, &held));
    return get_row(columns, 0, table_->nulls, fields);
  }

  std::shared_ptr<const Table> table_;
  std::vector<Place> places_;
  BufferPtr bytes_;
};

// The row of a batch with one row.
class SingleRow final : public Block {
 public:
  explicit SingleRow(std::vector<Tensor> fields) : fields_(std::move(fields)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row != 0) return no_row(1, row);
    fields = fields_;
    return {};
  }

 private:
  std::vector<Tensor> fields_;
};

// A batch with some damaged rows: each row is read when it is requested, as if alone.
class DamagedBatch final : public Block {
 public:
  DamagedBatch(std::shared_ptr<const Table> table, const Group& group, BufferPtr bytes)
      : table_(std::move(table)), group_(group), bytes_(std::move(bytes)) {}
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= group_.rows) return no_row(group_.rows, row);
    return read(row, fields).in_format("arrow");
  }
  bool is_null(uint64_t row, int field) const override {
    const auto columns = values_of(row);
    return columns.ok() && (*columns)[static_cast<size_t>(field)].is_null(0);
  }

 private:
  Result<std::vector<Values>> values_of(uint64_t row) const {
    const TableFile& file = table_->files[group_.file];
    const Bytes bytes{bytes_, 0, bytes_->size()};
    HEADRACE_ASSIGN(const Batch batch, batch_in(file, bytes));
    size_t held = 0;
    return read_batch(file, batch, bytes, row, 1, &held);
  }
  Status read(uint64_t row, std::vector<Tensor>& fields) const {
    HEADRACE_ASSIGN(const std::vector<Values> columns, values_of(row));
    return get_row(columns, 0, table_->nulls, fields);
  }

  std::shared_ptr<const Table> table_;
  Group group_;
  BufferPtr bytes_;
};

// The same for some rows of a large batch: in pieces, each of which is valid or is a single damaged row.
class PiecesOfRows final : public Block {
 public:
  struct Piece {
    uint64_t first = 0;
    Result<std::vector<Values>> values;
  };
  // `pieces`: in order, the first starts at row 0.
  PiecesOfRows(std::shared_ptr<const Table> table, uint64_t rows, std::vector<Piece> pieces)
      : table_(std::move(table)), rows_(rows), pieces_(std::move(pieces)) {
    for (const Piece& piece : pieces_)
      for (size_t i = 0; piece.values.ok() && i < piece.values->size(); ++i)
        held_ += sizeof(Values) + (*piece.values)[i].held;
  }
  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= rows_) return no_row(rows_, row);
    const Piece& piece = piece_of(row);
    Status status = piece.values.ok() ? get_row(*piece.values, row - piece.first, table_->nulls, fields)
                                      : piece.values.status();
    return std::move(status).in_format("arrow");
  }
  bool is_null(uint64_t row, int field) const override {
    const Piece& piece = piece_of(row);
    return piece.values.ok() && (*piece.values)[static_cast<size_t>(field)].is_null(row - piece.first);
  }
  size_t held_bytes() const override { return held_; }

 private:
  const Piece& piece_of(uint64_t row) const {
    return *(std::ranges::upper_bound(pieces_, row, {}, &Piece::first) - 1);
  }

  std::shared_ptr<const Table> table_;
  uint64_t rows_;
  std::vector<Piece> pieces_;
  size_t held_ = 0;
};

// In one read where all of a batch is wanted or it is small. Otherwise its metadata, then the buffers it
// needs: for some rows, first fixed-size values and the offsets, then the bytes between these. If part of
// that is damaged, each half of the rows is read on its own, then halves of these: an error belongs to its
// row, however many are read with it.
class OpenGroup final : public Opening<BlockPtr> {
 public:
  OpenGroup(std::shared_ptr<const Table> table, const Group& group)
      : table_(std::move(table)),
        group_(group),
        file_(table_->files[group.file]),
        begin_((*file_.batches)[group.batch].offset),
        length_((*file_.batches)[group.batch].length) {}

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    auto step = next(bytes);
    if (!step.ok()) return step.status().in_format("arrow");
    return step;
  }

 private:
  enum class Stage { start, single, whole, metadata, buffers, rows, pieces };

  Result<Step<BlockPtr>> next(std::span<const BufferPtr> bytes) {
    switch (stage_) {
      case Stage::start: return start();
      case Stage::single: return single(bytes[0]);
      case Stage::whole: return whole(bytes[0]);
      case Stage::metadata: return metadata(bytes[0]);
      case Stage::buffers: return buffers(bytes);
      case Stage::rows: return rows(bytes);
      case Stage::pieces: return next_piece(reader_->take(parts_of(bytes)));
    }
    return internal_error("no such stage");
  }

  Result<Step<BlockPtr>> ask(Stage next, uint64_t offset, uint64_t length) {
    stage_ = next;
    return Step<BlockPtr>(std::vector<Extent>{{group_.file, offset, length, next == Stage::single}});
  }

  Result<Step<BlockPtr>> start() {
    if (file_.columns->empty()) return made({}, 0);
    const Contents& contents = *file_.contents;
    const uint64_t rows = contents.rows_of(group_.batch);
    if (rows == 1 && !contents.is_compressed && may_be_single_row(*file_.columns))
      return ask(Stage::single, begin_, length_);
    const bool takes_all = group_.rows == rows && file_.columns->size() == file_.layout->columns.size();
    if (takes_all || is_read_whole(file_, group_.batch, rows)) return ask(Stage::whole, begin_, length_);
    return ask(Stage::metadata, begin_, std::min(length_, kFirstRead));
  }

  // The bytes may be those of a map: metadata are copied, since they are accessed more than once; each
  // offset of the body is loaded once. Anything less simple is read and takes the slow path.
  Result<Step<BlockPtr>> single(const BufferPtr& buffer) {
    const uint64_t metadata = buffer->size() < kPrefix ? 0 : metadata_length(buffer->bytes());
    if (metadata < kPrefix || metadata > buffer->size()) return ask(Stage::whole, begin_, length_);
    const auto copied = buffer->bytes().first(metadata);
    const std::vector<std::byte> bytes(copied.begin(), copied.end());
    HEADRACE_ASSIGN(const Message message, Message::read(bytes));
    HEADRACE_ASSIGN(const Batch batch, Batch::of(message));
    HEADRACE_TRY(batch.fits(*file_.layout));
    const Bytes body{buffer, metadata, buffer->size() - metadata};
    std::vector<Tensor> fields;
    if (!read_single_row(*file_.columns, batch, body, fields)) return ask(Stage::whole, begin_, length_);
    return Step<BlockPtr>(std::make_shared<SingleRow>(std::move(fields)));
  }

  Result<Step<BlockPtr>> whole(const BufferPtr& buffer) {
    const Bytes bytes{buffer, 0, buffer->size()};
    HEADRACE_ASSIGN(const Batch batch, batch_in(file_, bytes));
    size_t held = 0;
    auto columns = read_batch(file_, batch, bytes, 0, group_.rows, &held);
    if (columns.ok()) return made(*std::move(columns), held);
    if (batch.codec() != Codec::none) return columns.status();
    return Step<BlockPtr>(std::make_shared<DamagedBatch>(table_, group_, buffer));
  }

  Result<Step<BlockPtr>> metadata(const BufferPtr& bytes) {
    metadata_ = bytes;
    if (bytes->size() < kPrefix)
      return corrupt({.expected = "a message", .got = std::to_string(bytes->size()) + " bytes"});
    const uint64_t needs = metadata_length(bytes->bytes());
    if (needs > length_)
      return corrupt({.expected = "message metadata of at most " + std::to_string(length_) + " bytes",
                      .got = std::to_string(needs)});
    if (needs > bytes->size()) return ask(Stage::metadata, begin_, needs);
    HEADRACE_ASSIGN(const Message message, Message::read(bytes->bytes()));
    HEADRACE_ASSIGN(batch_, Batch::of(message));
    HEADRACE_TRY(batch_->fits(*file_.layout));
    body_at_ = begin_ + needs;
    if (batch_->body() > length_ - needs)
      return corrupt({.expected = "a body of at most " + std::to_string(length_ - needs) + " bytes",
                      .got = std::to_string(batch_->body())});
    auto reader = RowsReader::make(*file_.columns, *batch_, group_.first, group_.rows, file_.dictionaries);
    if (!reader.ok()) return some_are_wrong(reader.status());
    reader_ = *std::move(reader);
    return batch_->codec() == Codec::none ? ask_rows() : ask_buffers();
  }

  Result<Step<BlockPtr>> ask_buffers() {
    stage_ = Stage::buffers;
    HEADRACE_ASSIGN(needed_, buffers_of(*file_.columns, *batch_));
    std::vector<Extent> extents;
    for (const uint32_t buffer : needed_) {
      HEADRACE_ASSIGN(const Piece piece, batch_->piece(buffer));
      extents.push_back({group_.file, body_at_ + piece.offset, piece.length});
    }
    return Step<BlockPtr>(std::move(extents));
  }

  Result<Step<BlockPtr>> buffers(std::span<const BufferPtr> bytes) {
    HEADRACE_ASSIGN(const Body body, Body::parts(needed_, *batch_, parts_of(bytes)));
    HEADRACE_ASSIGN(std::vector<Values> columns, body.read(*batch_, *std::move(reader_)));
    return made(std::move(columns), body.held());
  }

  // The extents that the reader requests.
  Result<std::vector<Extent>> extents_of_rows() const {
    std::vector<Extent> extents;
    for (const RowsReader::Wanted& wanted : reader_->wanted()) {
      HEADRACE_ASSIGN(const Piece piece, piece_of(*batch_, wanted.cut));
      // These are only sliced; offsets and views are checked, then followed.
      const bool mappable = wanted.part == RowsReader::Part::data || wanted.part == RowsReader::Part::behind;
      extents.push_back({group_.file, body_at_ + piece.offset, piece.length, mappable});
    }
    return extents;
  }

  Result<Step<BlockPtr>> ask_rows() {
    stage_ = Stage::rows;
    auto extents = extents_of_rows();
    if (!extents.ok()) return some_are_wrong(extents.status());
    if (extents->empty()) return made((*std::move(reader_)).finish(), 0);
    return Step<BlockPtr>(*std::move(extents));
  }

  Result<Step<BlockPtr>> rows(std::span<const BufferPtr> bytes) {
    if (Status status = reader_->take(parts_of(bytes)); !status.ok()) return some_are_wrong(status);
    return ask_rows();
  }

  // Not for a compressed batch, whose buffers are valid or damaged as a whole.
  Result<Step<BlockPtr>> some_are_wrong(const Status& status) {
    if (batch_->codec() != Codec::none) return status;
    stage_ = Stage::pieces;
    pending_ = {{0, group_.rows}};
    return next_piece(status);
  }

  Status begin_piece() {
    HEADRACE_ASSIGN(reader_, RowsReader::make(*file_.columns, *batch_, group_.first + pending_.back().first,
                                              pending_.back().count, file_.dictionaries));
    return {};
  }

  // Requests the bytes of the current piece, else goes on to the next one. `status`: its result so far.
  Result<Step<BlockPtr>> next_piece(Status status) {
    while (true) {
      Result<std::vector<Extent>> extents = status.ok() ? extents_of_rows() : status;
      if (extents.ok() && !extents->empty()) return Step<BlockPtr>(*std::move(extents));
      const Pending piece = pending_.back();
      pending_.pop_back();
      if (extents.ok()) {
        pieces_.push_back({piece.first, (*std::move(reader_)).finish()});
      } else if (piece.count == 1) {
        pieces_.push_back({piece.first, extents.status()});
      } else {
        const uint64_t half = piece.count / 2;
        pending_.push_back({piece.first + half, piece.count - half});
        pending_.push_back({piece.first, half});
      }
      if (pending_.empty())
        return Step<BlockPtr>(std::make_shared<PiecesOfRows>(table_, group_.rows, std::move(pieces_)));
      status = begin_piece();
    }
  }

  static std::vector<Bytes> parts_of(std::span<const BufferPtr> bytes) {
    std::vector<Bytes> out;
    for (const BufferPtr& part : bytes) out.push_back({part, 0, part->size()});
    return out;
  }

  Result<Step<BlockPtr>> made(std::vector<Values> columns, size_t held) {
    return Step<BlockPtr>(std::make_shared<Rows>(table_, std::move(columns), group_.rows, held));
  }

  std::shared_ptr<const Table> table_;
  Group group_;
  const TableFile& file_;
  uint64_t begin_, length_, body_at_ = 0;
  Stage stage_ = Stage::start;
  BufferPtr metadata_;  // borrowed by batch_
  std::optional<Batch> batch_;
  std::optional<RowsReader> reader_;
  std::vector<uint32_t> needed_;
  struct Pending {
    uint64_t first = 0, count = 0;
  };
  std::vector<Pending> pending_;  // rows still to be read, the next ones last
  std::vector<PiecesOfRows::Piece> pieces_;
};

Extent extent_of(const Table& table, uint64_t row) {
  const Group group = table.group_of(row);
  const TableFile& file = table.files[group.file];
  const Contents& contents = *file.contents;
  const bool is_single = contents.rows_of(group.batch) == 1;
  const RecordExtent& batch = (*file.batches)[group.batch];
  if (is_single && !contents.is_compressed) return {group.file, batch.offset, batch.length};
  if (may_lie_apart(table, file, group.batch)) return Extent::apart(group.file, batch.offset);
  return {group.file, batch.offset, kToEnd};
}

}  // namespace

Group Table::group_of(uint64_t row) const {
  const auto after = std::ranges::upper_bound(first, row);
  const auto at = static_cast<size_t>(after - first.begin() - 1);
  const TableFile& file = files[at];
  const uint64_t in_file = row - first[at], batch = file.contents->batch_of(in_file);
  const uint64_t begin = file.contents->rows_before(batch), rows = file.contents->rows_of(batch);
  const uint64_t together = rows_together(*this, file, batch, rows);
  const uint64_t part = (in_file - begin) / together * together;
  return {at, batch, part, std::min(together, rows - part)};
}

void extents_of(const Table& table, std::span<const uint64_t> rows, std::span<Extent> out) {
  const bool is_quick = !needs_readers(*table.files[0].columns);
  for (size_t i = 0, run = 0; i < rows.size(); i += run) {
    run = num_consecutive(rows.subspan(i));
    for (size_t k = i; k < i + run; ++k) {
      out[k] = extent_of(table, rows[k]);
      if (!is_quick && run >= kManyNeighbours) out[k].mappable = false;  // they are read by group
    }
  }
}

BlockPtr single_rows(std::shared_ptr<const Table> table, std::span<const uint64_t> rows,
                     std::span<const size_t> at, BufferPtr bytes) {
  std::vector<SingleRows::Place> places(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Group group = table->group_of(rows[i]);
    places[i] = {group.file, group.batch, at[i]};
  }
  return std::make_shared<SingleRows>(std::move(table), std::move(places), std::move(bytes));
}

std::unique_ptr<Opening<BlockPtr>> open_group(std::shared_ptr<const Table> table, const Group& group) {
  return std::make_unique<OpenGroup>(std::move(table), group);
}

}  // namespace headrace::arrow
