#include "headrace/formats/arrow/row_places.h"

#include <algorithm>

namespace headrace::arrow {
namespace {

constexpr uint64_t kSmallRow = 16 << 10;        // bytes; larger ones are worth a read, and are not copied
constexpr size_t kMostHeld = size_t{64} << 20;  // bytes of all BatchPlaces that are kept

// Bytes of all rows.
Result<uint64_t> bytes_of(const std::vector<Column>& columns, const Batch& batch) {
  HEADRACE_ASSIGN(const std::vector<uint32_t> buffers, buffers_of(columns, batch));
  uint64_t out = 0;
  for (const uint32_t buffer : buffers) {
    HEADRACE_ASSIGN(const Piece piece, batch.piece(buffer));
    out += piece.length;
  }
  return out;
}

ColumnPlaces::Kind kind_of(const Column& column) {
  using Kind = ColumnPlaces::Kind;
  if (column.dictionary || column.text_size != 0 || column.is_view) return Kind::other;
  if (!column.is_list()) return Kind::fixed;
  return column.bits || column.stored != column.dtype ? Kind::other : Kind::list;
}

class FindPlaces {
 public:
  FindPlaces(const Batch& batch, uint64_t body_at) : batch_(batch), body_at_(body_at) {}

  Result<ColumnPlaces> of(const Column& column) const {
    ColumnPlaces out;
    HEADRACE_ASSIGN(const std::optional<BufferAt> present, present_of(column));
    out.has_nulls = present.has_value();
    if (!out.has_nulls || present->fixed != kSeveral.fixed) out.kind = kind_of(column);
    HEADRACE_TRY(check_items(column, out.kind));
    if (out.kind == ColumnPlaces::Kind::other) return out;
    if (out.has_nulls) HEADRACE_TRY(find(*present, out.present));
    if (column.is_list()) HEADRACE_TRY(find(column.offsets, out.offsets));
    HEADRACE_TRY(find(column.values, out.values));
    return out;
  }

 private:
  static constexpr BufferAt kSeveral{~uint32_t{0}, 0};

  // The bitmap of a column with nulls; kSeveral if there are more.
  Result<std::optional<BufferAt>> present_of(const Column& column) const {
    std::optional<BufferAt> out;
    for (const NodeAt& at : column.rows) {
      HEADRACE_ASSIGN(const Node node, batch_.node(at.node));
      if (node.rows != batch_.rows()) return corrupt("expected the same number of rows in each column");
      if (node.nulls != 0) out = out ? kSeveral : at.validity;
    }
    return out;
  }
  Status check_items(const Column& column, ColumnPlaces::Kind& kind) const {
    for (const uint32_t between : column.between) {
      HEADRACE_ASSIGN(const Node node, batch_.node(between));
      if (node.nulls != 0) return corrupt("expected no null lists inside lists");
    }
    if (!column.items) return {};
    HEADRACE_ASSIGN(const Node node, batch_.node(column.items->node));
    if (node.nulls != 0) kind = ColumnPlaces::Kind::other;
    return {};
  }
  Status find(BufferAt at, BufferPlace& out) const {
    HEADRACE_ASSIGN(const uint32_t buffer, batch_.buffer(at));
    HEADRACE_ASSIGN(const Piece piece, batch_.piece(buffer));
    out = {body_at_ + piece.offset, piece.length};
    return {};
  }

  const Batch& batch_;
  uint64_t body_at_;
};

}  // namespace

Result<std::unique_ptr<const BatchPlaces>> BatchPlaces::make(const TableFile& file, uint64_t batch,
                                                             std::vector<std::byte> message) {
  const RecordExtent& extent = (*file.batches)[batch];
  auto out = std::make_unique<BatchPlaces>();
  message.shrink_to_fit();  // its capacity comes from reading it in pieces
  out->message_ = std::move(message);
  HEADRACE_ASSIGN(const Message read, Message::read(out->message_));
  HEADRACE_ASSIGN(out->batch_, Batch::of(read));
  HEADRACE_TRY(out->batch_->fits(*file.layout));
  const uint64_t metadata = metadata_length(out->message_);
  const bool is_as_known = out->batch_->codec() == Codec::none &&
                           out->batch_->rows() == file.contents->rows_of(batch) &&
                           within(metadata, out->batch_->body(), extent.length);
  if (!is_as_known) return corrupt("expected the batch as it was when the file was indexed");
  out->body_at_ = extent.offset + metadata;
  out->columns_.reserve(file.columns->size());
  const FindPlaces find(*out->batch_, out->body_at_);
  bool needs_reader = false;
  for (const Column& column : *file.columns) {
    HEADRACE_ASSIGN(const ColumnPlaces places, find.of(column));
    needs_reader |= places.kind == ColumnPlaces::Kind::other;
    out->columns_.push_back(places);
  }
  HEADRACE_ASSIGN(const uint64_t bytes, bytes_of(*file.columns, *out->batch_));
  out->has_small_rows_ = bytes / std::max<uint64_t>(1, out->batch_->rows()) <= kSmallRow;
  if (!needs_reader) out->batch_.reset(), out->message_ = {};
  return std::unique_ptr<const BatchPlaces>(std::move(out));
}

size_t BatchPlaces::held_bytes() const {
  return sizeof *this + message_.capacity() + columns_.capacity() * sizeof(ColumnPlaces);
}

KnownBatches::KnownBatches(const Table& table) {
  size_t batches = 0;
  for (const TableFile& file : table.files) {
    first_.push_back(batches);
    const bool is_like_before = !alone_.empty() && file.columns == table.files[alone_.size() - 1].columns;
    if (is_like_before) {
      alone_.push_back(alone_.back());
    } else {
      Alone alone;
      for (const Column& column : *file.columns) alone.push_back({column});
      alone_.push_back(std::make_shared<const Alone>(std::move(alone)));
    }
    batches += file.batches->size();
  }
  all_ = std::make_unique<std::atomic<const BatchPlaces*>[]>(batches);
  first_.push_back(batches);
}

KnownBatches::~KnownBatches() {
  for (size_t i = 0; i < first_.back(); ++i) delete all_[i].load(std::memory_order_relaxed);
}

const BatchPlaces* KnownBatches::keep(size_t file, uint64_t batch, std::unique_ptr<const BatchPlaces> places,
                                      std::unique_ptr<const BatchPlaces>& own) {
  const size_t size = places->held_bytes();
  own = std::move(places);
  if (held_.fetch_add(size, std::memory_order_relaxed) > kMostHeld) {
    held_.fetch_sub(size, std::memory_order_relaxed);
    return own.get();
  }
  const BatchPlaces* known = nullptr;
  auto& here = all_[first_[file] + batch];
  if (here.compare_exchange_strong(known, own.get(), std::memory_order_acq_rel)) return own.release();
  held_.fetch_sub(size, std::memory_order_relaxed);  // another thread was first
  return known;
}

bool needs_readers(const std::vector<Column>& columns) {
  return std::ranges::any_of(
      columns, [](const Column& column) { return kind_of(column) == ColumnPlaces::Kind::other; });
}

bool may_lie_apart(const Table& table, const TableFile& file, uint64_t batch) {
  const uint64_t rows = file.contents->rows_of(batch);
  if (rows < 2 || file.contents->is_compressed) return false;
  if (table.row_bytes != 0) return table.row_bytes <= kSmallRow;
  const bool are_all = file.columns->size() == file.layout->columns.size();
  return !are_all || (*file.batches)[batch].length / rows <= kSmallRow;
}

bool may_lie_apart(const Table& table, uint64_t row) {
  const Group group = table.group_of(row);
  return may_lie_apart(table, table.files[group.file], group.batch);
}

}  // namespace headrace::arrow
