// Positions of the values of a record batch in its file, for batches without compression: a row's bytes can
// then be accessed without those of other rows.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "headrace/formats/arrow/message.h"
#include "headrace/formats/arrow/table.h"

namespace headrace::arrow {

struct BufferPlace {
  uint64_t begin = 0, size = 0;  // in the file
};

struct ColumnPlaces {
  // Values at a constant stride; strings, and lists of numbers; anything that needs a RowsReader.
  enum class Kind : uint8_t { fixed, list, other };
  Kind kind = Kind::other;
  bool has_nulls = false;
  BufferPlace present, offsets, values;  // `present` where it has nulls
};

// Of one batch. Immutable; any thread.
class BatchPlaces {
 public:
  // `message`: all of its metadata, which are kept where a column needs a RowsReader. An error where its rows
  // must be read in groups, which then report the cause.
  static Result<std::unique_ptr<const BatchPlaces>> make(const TableFile& file, uint64_t batch,
                                                         std::vector<std::byte> message);

  bool has_small_rows() const { return has_small_rows_; }
  const ColumnPlaces& column(size_t i) const { return columns_[i]; }
  // Null where no column is of kind `other`.
  const Batch* batch() const { return batch_ ? &*batch_ : nullptr; }
  uint64_t body_at() const { return body_at_; }
  size_t held_bytes() const;

 private:
  std::vector<std::byte> message_;  // borrowed by batch_
  std::optional<Batch> batch_;
  uint64_t body_at_ = 0;
  bool has_small_rows_ = false;
  std::vector<ColumnPlaces> columns_;
};

// BatchPlaces of a table's batches, each made when one of its rows is first read. Any thread.
class KnownBatches {
 public:
  explicit KnownBatches(const Table& table);
  ~KnownBatches();
  KnownBatches(const KnownBatches&) = delete;
  KnownBatches& operator=(const KnownBatches&) = delete;

  // Null if it has not been made yet.
  const BatchPlaces* find(size_t file, uint64_t batch) const {
    return all_[first_[file] + batch].load(std::memory_order_acquire);
  }
  // Kept for good, unless the memory limit is reached: then it is owned by the caller, in `own`.
  const BatchPlaces* keep(size_t file, uint64_t batch, std::unique_ptr<const BatchPlaces> places,
                          std::unique_ptr<const BatchPlaces>& own);
  // Each column of a file on its own.
  const std::vector<Column>& alone(size_t file, size_t column) const { return (*alone_[file])[column]; }

 private:
  using Alone = std::vector<std::vector<Column>>;
  std::vector<size_t> first_;                        // batches in the files before
  std::vector<std::shared_ptr<const Alone>> alone_;  // of each file; files mostly share theirs
  std::unique_ptr<std::atomic<const BatchPlaces*>[]> all_;
  std::atomic<size_t> held_ = 0;
};

// Whether some of these columns are of kind `other` in every batch.
bool needs_readers(const std::vector<Column>& columns);

// Whether rows of a batch may be read one by one where its file is mapped: there are several, and as far as
// can be told without reading they are small. Second form: of the batch that a row is in.
bool may_lie_apart(const Table& table, const TableFile& file, uint64_t batch);
bool may_lie_apart(const Table& table, uint64_t row);

}  // namespace headrace::arrow
