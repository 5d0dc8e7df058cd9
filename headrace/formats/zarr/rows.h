// Rows of one array on their way from the chunks they lie in. One caller.
#pragma once
#include <vector>

#include "headrace/formats/source.h"
#include "headrace/formats/zarr/cells.h"
#include "headrace/formats/zarr/table.h"
#include "headrace/formats/zarr/texts.h"

namespace headrace::zarr {

// Rows that are there. Immutable; any thread.
struct Rows {
  BufferPtr numbers = nullptr;    // or
  std::vector<Texts> texts = {};  // of each chunk
  uint64_t first = 0;             // the row that comes first here
  uint64_t rows_each = 1;         // of texts, in a chunk
  size_t held = 0;                // bytes beside those that were read

  Tensor row(const Field& field, uint64_t row) const;  // REQUIRES: it is here
  static Rows kept(const Field& field) { return {field.kept}; }
};

// Asks for indexes of shards where they are not in memory, then for chunks.
class ReadRows {
 public:
  ReadRows(const Field& field, RowRange rows) : field_(field), rows_(rows) {}

  // What it needs next; nothing: it is done. `bytes` answer what it said before.
  Result<std::vector<Extent>> advance(std::span<const BufferPtr> bytes);
  Rows finish() && { return std::move(out_); }

 private:
  struct Cell {
    Dims at;                           // coordinates in the grid of cells
    size_t chunk = 0;                  // in field_.chunks
    uint64_t in_shard = 0;             // which of the shard's
    uint64_t begin = 0, end = kToEnd;  // bytes of the file
  };

  void find_cells();
  Result<std::vector<Extent>> ask_indexes();
  Status take_indexes(std::span<const BufferPtr> bytes);
  Status place_in_shard(Cell& cell, const BufferPtr& index);
  std::vector<Extent> ask_cells();
  Status take_cells(std::span<const BufferPtr> bytes);
  Status take_plain(std::span<const BufferPtr> bytes);
  Status take_texts(std::span<const BufferPtr> bytes);
  Status take_numbers(std::span<const BufferPtr> bytes);
  Status named(const Cell& cell, Status status) const;
  RowRange rows_of(const Cell& cell) const;  // of those that are wanted
  bool is_plain() const;

  const Field& field_;
  RowRange rows_;
  enum class Stage : uint8_t { start, indexes, cells, done } stage_ = Stage::start;
  uint64_t all_ = 0;  // cells of these rows, with those that are not there
  std::vector<Cell> cells_;
  std::vector<size_t> asked_;  // chunks whose indexes are asked for, sorted
  Rows out_;
};

}  // namespace headrace::zarr
