// Reads rows of one array from its chunks. One caller.
#pragma once
#include <vector>

#include "headrace/formats/source.h"
#include "headrace/formats/zarr/cells.h"
#include "headrace/formats/zarr/table.h"
#include "headrace/formats/zarr/texts.h"

namespace headrace::zarr {

// Rows in memory. Immutable; any thread.
struct Rows {
  BufferPtr numbers = nullptr;    // or
  std::vector<Texts> texts = {};  // one per chunk
  uint64_t first = 0;             // number of the first row
  uint64_t rows_each = 1;         // rows per chunk of strings
  size_t held = 0;                // bytes in addition to those that were read

  Tensor row(const Field& field, uint64_t row) const;  // REQUIRES: `row` is in memory
  static Rows kept(const Field& field) { return {field.kept}; }
};

// Requests shard indexes that are not in memory, then chunks.
class ReadRows {
 public:
  ReadRows(const Field& field, RowRange rows) : field_(field), rows_(rows) {}

  // The next extents; empty when done. `bytes`: those of the previous extents.
  Result<std::vector<Extent>> advance(std::span<const BufferPtr> bytes);
  Rows finish() && { return std::move(out_); }

 private:
  struct Cell {
    Dims at;                           // coordinates in the grid of cells
    size_t chunk = 0;                  // in field_.chunks
    uint64_t in_shard = 0;             // ordinal in the shard
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
  RowRange rows_of(const Cell& cell) const;  // the requested ones
  bool is_plain() const;

  const Field& field_;
  RowRange rows_;
  enum class Stage : uint8_t { start, indexes, cells, done } stage_ = Stage::start;
  uint64_t all_ = 0;  // cells of these rows, including missing ones
  std::vector<Cell> cells_;
  std::vector<size_t> asked_;  // chunks whose indexes were requested, sorted
  Rows out_;
};

}  // namespace headrace::zarr
