#include "headrace/formats/hdf5/rows.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "headrace/core/saturate.h"
#include "headrace/formats/hdf5/chunks/filters.h"
#include "headrace/formats/hdf5/structures/global_heap.h"
#include "headrace/formats/hdf5/values.h"

namespace headrace::hdf5 {
namespace {

constexpr uint64_t kMostRun = uint64_t{2} << 30;

// Adjacent objects of a heap, at their likely position.
struct Piece {
  uint64_t begin = 0, end = 0;  // bytes of the file
  BufferPtr bytes = nullptr;
};

// A collection of a heap, or its beginning: for objects that are not at their likely position.
struct Collection {
  uint64_t address = 0, length = 0;  // of what is read; the address as in references
  BufferPtr bytes = nullptr;
  HeapCollection objects = {};
  Status refusal = {};
};

// The value that a row refers to. Damage is an error of its row only.
struct Run {
  Reference to = {};
  uint64_t bytes = 0;                // lower bound
  size_t piece = 0, collection = 0;  // counted from one; 0: none
  uint64_t offset = 0;               // of its header in the piece, then of its bytes
};

struct RunField {
  size_t field = 0;
  std::vector<Run> runs = {};  // one per row
};

class Rows final : public Block {
 public:
  Rows(std::shared_ptr<const Table> table, size_t file, RowRange rows)
      : table_(std::move(table)), file_(table_->files[file]), rows_(rows) {}

  Status get(uint64_t row, std::vector<Tensor>& fields) const override {
    if (row >= rows_.size())
      return invalid({.expected = "a row below " + std::to_string(rows_.size()), .got = std::to_string(row)})
          .in_format("hdf5");
    fields.resize(file_.fields.size());
    for (size_t i = 0, run = 0; i < fields.size(); ++i) {
      const FieldAt& at = file_.fields[i];
      const Leaf& leaf = file_.leaf(at);
      if (!leaf.is_vlen()) {
        fields[i] = value_of(file_.dataset(at.dataset), leaf, bytes_[at.dataset], row);
        continue;
      }
      Status status = get_run(leaf, runs_[run++].runs[row], fields[i]);
      if (!status.ok()) return std::move(status).of_field(table_->schema.names[i]).in_format("hdf5");
    }
    return {};
  }

  bool gather(std::span<const uint64_t> rows, int field, std::byte* out) const override {
    const FieldAt& at = file_.fields[static_cast<size_t>(field)];
    const Dataset& dataset = file_.dataset(at.dataset);
    if (!is_plain(dataset, file_.leaf(at)) ||
        std::ranges::any_of(rows, [&](uint64_t row) { return row >= rows_.size(); }))
      return false;
    const size_t size = dataset.row_bytes();
    for (size_t i = 0; i < rows.size(); ++i)
      if (size > 0) std::memcpy(out + i * size, bytes_[at.dataset].row(dataset, rows[i]), size);
    return true;
  }
  size_t held_bytes() const override { return held_; }

 private:
  friend class OpenRows;

  Status get_run(const Leaf& leaf, const Run& run, Tensor& out) const {
    if (run.to.count == 0) {
      out = run_of(leaf, HeapBuffer::make(0), 0, 0);
      return {};
    }
    if (run.piece > 0) {
      out = run_of(leaf, pieces_[run.piece - 1].bytes, run.offset, run.to.count);
      return {};
    }
    const Collection& collection = collections_[run.collection - 1];
    HEADRACE_TRY(collection.refusal);
    const auto in_file = [&] { return " (global heap at byte " + std::to_string(collection.address) + ")"; };
    const HeapObject* object = collection.objects.find(run.to.index);
    if (!object) return corrupt("no object " + std::to_string(run.to.index) + in_file());
    if (run.bytes > object->length)
      return corrupt(
          {.expected = std::to_string(run.bytes) + " bytes in object " + std::to_string(run.to.index),
           .got = std::to_string(object->length) + in_file()});
    out = run_of(leaf, collection.bytes, object->offset, run.to.count);
    return {};
  }

  std::shared_ptr<const Table> table_;
  const TableFile& file_;
  RowRange rows_;
  std::vector<RowBytes> bytes_;  // of each dataset
  std::vector<RunField> runs_;
  std::vector<Piece> pieces_;
  std::vector<Collection> collections_;
  size_t held_ = 0;
};

// First reads the rows' own bytes, and the objects they refer to at their likely positions; then, for
// objects that are elsewhere, the beginning of their collections, and all of those that are longer.
class OpenRows final : public Opening<BlockPtr> {
 public:
  OpenRows(std::shared_ptr<const Table> table, size_t file, RowRange rows)
      : out_(std::make_shared<Rows>(table, file, rows)),
        table_(std::move(table)),
        file_(table_->files[file]),
        ordinal_(file),
        rows_(rows) {}

  Result<Step<BlockPtr>> advance(std::span<const BufferPtr> bytes) override {
    switch (stage_++) {
      case 0: start(); break;
      case 1: {
        Status status = take_rows(bytes);
        if (!status.ok()) return std::move(status).in_format("hdf5");
        take_pieces(bytes.subspan(bytes.size() - out_->pieces_.size()));
        break;
      }
      default: take_collections(bytes); break;
    }
    if (extents_.empty()) return Step<BlockPtr>(BlockPtr(std::move(out_)));
    return Step<BlockPtr>(std::exchange(extents_, {}));
  }

 private:
  void start() {
    out_->bytes_.resize(file_.datasets.size());
    for (size_t i = 0; i < file_.datasets.size(); ++i) plan(i);
    find_runs();
    for (const Piece& piece : out_->pieces_)
      extents_.push_back({ordinal_, piece.begin, piece.end - piece.begin, true});
    if (extents_.empty()) take_pieces({}), ++stage_;
  }

  // Plans how to read the rows of a dataset, unless they are in memory.
  void plan(size_t i) {
    const Dataset& dataset = file_.dataset(i);
    const uint64_t begin = rows_.begin * dataset.row_bytes(), length = rows_.size() * dataset.row_bytes();
    if (const auto all = resident_rows(dataset)) {
      out_->bytes_[i].buffer = std::make_shared<BorrowedBuffer>(all->subspan(begin, length), table_);
      return;
    }
    if (dataset.storage == Storage::contiguous) {
      if (dataset.address == kNowhere) return (void)fill_rows(i);
      plans_.push_back({i, {}, true});
      return extents_.push_back({ordinal_, dataset.address + begin, length});
    }
    const std::span<const Chunk> chunks = chunks_of(dataset, rows_);
    if (chunks.empty()) return (void)fill_rows(i);
    if (const auto extent = extent_in(dataset, chunks)) {
      plans_.push_back({i, {}, true});
      return extents_.push_back({ordinal_, extent->first, extent->second});
    }
    plans_.push_back({i, chunks, false});
    for (const Chunk& chunk : chunks) extents_.push_back({ordinal_, chunk.address, chunk.size});
  }

  // The extent of rows that are contiguous in one unfiltered chunk.
  std::optional<std::pair<uint64_t, uint64_t>> extent_in(const Dataset& dataset,
                                                         std::span<const Chunk> chunks) const {
    if (chunks.size() != 1 || !dataset.filters.empty() || !holds_whole_rows(dataset) ||
        chunks[0].size != dataset.chunk_bytes())
      return std::nullopt;
    const RowRange in = rows_of(dataset, chunks[0]);
    if (in.begin > rows_.begin || in.end < rows_.end) return std::nullopt;
    return std::pair(chunks[0].address + (rows_.begin - in.begin) * dataset.row_bytes(),
                     rows_.size() * dataset.row_bytes());
  }

  MutableBufferPtr fill_rows(size_t i) {
    const Dataset& dataset = file_.dataset(i);
    const MutableBufferPtr made = HeapBuffer::make(rows_.size() * dataset.row_bytes());
    fill(dataset, {made->mutable_data(), made->size()});
    out_->held_ += made->size();
    out_->bytes_[i].buffer = made;
    return made;
  }

  Status take_rows(std::span<const BufferPtr> bytes) {
    size_t next = 0;
    for (const Plan& plan : plans_) {
      const Dataset& dataset = file_.dataset(plan.dataset);
      if (plan.is_whole) {
        out_->bytes_[plan.dataset].buffer = bytes[next++];
        continue;
      }
      const MutableBufferPtr made = fill_rows(plan.dataset);
      for (const Chunk& chunk : plan.chunks) {
        auto plain = unfilter(dataset, chunk, bytes[next++]);
        if (!plain.ok())
          return plain.status().after(" (chunk " + std::to_string(chunk.index) + " of '" +
                                      name_of(plan.dataset) + "' at byte " + std::to_string(chunk.address) +
                                      ")");
        place_chunk(dataset, chunk, (*plain)->bytes(), rows_, made->mutable_data());
      }
    }
    return {};
  }

  const std::string& name_of(size_t dataset) const {
    const auto uses = std::ranges::find(file_.fields, dataset, &FieldAt::dataset);
    return table_->schema.names[static_cast<size_t>(uses - file_.fields.begin())];
  }

  void find_runs() {
    for (size_t i = 0; i < file_.fields.size(); ++i) {
      const FieldAt& at = file_.fields[i];
      const Leaf& leaf = file_.leaf(at);
      if (!leaf.is_vlen()) continue;
      RunField& field = out_->runs_.emplace_back(RunField{i});
      field.runs.resize(rows_.size());
      for (uint64_t row = 0; row < rows_.size(); ++row) {
        const std::byte* bytes = out_->bytes_[at.dataset].row(file_.dataset(at.dataset), row) + leaf.offset;
        Run& run = field.runs[row];
        run.to = read_reference(bytes, file_.contents.address_bytes);
        run.bytes = saturating_mul(run.to.count, leaf.item_bytes());
        if (run.to.count > 0 && !leaf.places.empty()) find_piece(run, leaf.places[rows_.begin + row]);
      }
    }
  }

  // Finds or adds the piece that is likely to hold a run's object: the previous one, if the object
  // continues it.
  void find_piece(Run& run, uint64_t place) const {
    const uint64_t begin = saturating_add(saturating_add(file_.contents.base, run.to.address), place);
    const uint64_t end = saturating_add(begin, saturating_add(heap_head(sizes()), run.bytes));
    if (place == 0 || end > file_.file.size || run.bytes > kMostRun) return;
    auto& pieces = out_->pieces_;
    if (pieces.empty() || begin < pieces.back().end || begin - pieces.back().end >= 8)
      pieces.push_back({begin});
    pieces.back().end = end;
    run.piece = pieces.size();
    run.offset = begin - pieces.back().begin;
  }

  Sizes sizes() const { return {file_.contents.address_bytes, file_.contents.length_bytes}; }

  void take_pieces(std::span<const BufferPtr> bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) out_->pieces_[i].bytes = bytes[i];
    for (RunField& field : out_->runs_)
      for (Run& run : field.runs) {
        if (run.to.count == 0) continue;
        if (run.piece > 0) {
          const auto piece = out_->pieces_[run.piece - 1].bytes->bytes();
          const auto object = object_at(piece, run.offset, run.to.index, run.bytes, sizes());
          if (object) {
            run.offset = object->offset;
            continue;
          }
        }
        run.piece = 0;
        want_collection(run);
      }
    for (size_t i = 0; i < out_->collections_.size(); ++i) ask_collection(i);
  }

  void want_collection(Run& run) {
    auto& all = out_->collections_;
    run.collection = all.size();
    while (run.collection > 0 && all[run.collection - 1].address != run.to.address) --run.collection;
    if (run.collection == 0) {
      all.push_back({run.to.address});
      run.collection = all.size();
    }
    Collection& collection = all[run.collection - 1];
    if (run.bytes > kMostRun)
      collection.refusal = {Code::exhausted,
                            "expected values of at most 2 GiB, got " + std::to_string(run.bytes) + " bytes"};
    collection.length =
        std::max(collection.length, HeapCollection::guess(std::min(run.bytes, kMostRun), sizes()));
  }

  void ask_collection(size_t i) {
    Collection& collection = out_->collections_[i];
    if (!collection.refusal.ok()) return;
    const uint64_t at = saturating_add(file_.contents.base, collection.address), size = file_.file.size;
    if (at >= size) {
      collection.refusal = corrupt({.expected = "a global heap before byte " + std::to_string(size),
                                    .got = "byte " + std::to_string(collection.address)});
      return;
    }
    collection.length = std::min(collection.length, size - at);
    asked_.push_back(i);
    extents_.push_back({ordinal_, at, collection.length});
  }

  // If requested objects are missing and the collection is longer, all of it is read.
  void take_collections(std::span<const BufferPtr> bytes) {
    const std::vector<size_t> asked = std::exchange(asked_, {});
    for (size_t i = 0; i < asked.size(); ++i) {
      Collection& collection = out_->collections_[asked[i]];
      collection.bytes = bytes[i];
      auto read = HeapCollection::read(bytes[i]->bytes(), sizes());
      if (read.ok())
        collection.objects = *std::move(read);
      else
        collection.refusal = read.status().at_byte(collection.address);
    }
    std::vector<char> lacks(out_->collections_.size());
    for (const RunField& field : out_->runs_)
      for (const Run& run : field.runs)
        if (run.collection > 0 && !out_->collections_[run.collection - 1].objects.find(run.to.index))
          lacks[run.collection - 1] = 1;
    for (size_t i = 0; i < lacks.size(); ++i)
      if (lacks[i]) ask_rest(i);
  }

  void ask_rest(size_t i) {
    Collection& collection = out_->collections_[i];
    const uint64_t at = saturating_add(file_.contents.base, collection.address),
                   size = collection.objects.size();
    if (!collection.refusal.ok() || size <= collection.length) return;
    if (size > kMostRun || size > file_.file.size - at) {
      collection.refusal =
          corrupt({.expected = "a global heap inside the file",
                   .got = "one of " + std::to_string(size) + " bytes at byte " + std::to_string(at)});
      return;
    }
    collection.length = size;
    asked_.push_back(i);
    extents_.push_back({ordinal_, at, size});
  }

  struct Plan {
    size_t dataset = 0;
    std::span<const Chunk> chunks = {};
    bool is_whole = false;  // the bytes are exactly the rows
  };

  std::shared_ptr<Rows> out_;
  std::shared_ptr<const Table> table_;
  const TableFile& file_;
  uint64_t ordinal_;
  RowRange rows_;
  int stage_ = 0;
  std::vector<Plan> plans_;
  std::vector<size_t> asked_;  // collections
  std::vector<Extent> extents_;
};

}  // namespace

std::unique_ptr<Opening<BlockPtr>> open_rows(std::shared_ptr<const Table> table, size_t file, RowRange rows) {
  return std::make_unique<OpenRows>(std::move(table), file, rows);
}

}  // namespace headrace::hdf5
