// The values of one column for some rows of a row group.
#pragma once
#include <memory>
#include <vector>

#include "headrace/core/tensor.h"
#include "headrace/formats/nulls.h"
#include "headrace/formats/parquet/encodings.h"
#include "headrace/formats/parquet/schema.h"

namespace headrace::parquet {

// Filled by a ChunkReader; not changed afterwards.
struct Values {
  const Column* column = nullptr;  // outlives this
  uint64_t rows = 0;
  uint64_t first = 0;         // first requested row: earlier ones were decoded with it
  BufferPtr data;             // numbers, zero for nulls
  std::vector<Piece> pieces;  // strings, in `buffers`; for lists of strings one per row, lengths in `data`
  std::vector<BufferPtr> buffers;
  // The first value of each row, then the total: for lists of free length, and for others if some rows have
  // wrong lengths.
  std::vector<uint64_t> starts;
  std::vector<uint8_t> null_rows, null_items;  // a byte each; empty when there are none
  std::vector<uint8_t> wrong_rows;             // rows with lists of wrong lengths; likewise
  bool has_far_times = false;                  // any kTooEarly or kTooLate
  size_t held = 0;                             // memory allocated in addition to the given buffers

  // Shares the bytes. `row` counts from `first`. REQUIRES: it exists.
  Status at(uint64_t row, Nulls nulls, Tensor& out) const;
  // Whether at() reads a null. `row` counts from `first`.
  bool is_null(uint64_t row) const { return !null_rows.empty() && null_rows[first + row] != 0; }
  // Lengths of the strings of each row's list: the values of column `of`, which has the same leaf. Shares
  // memory.
  Values lengths(const Column& of) const;
  // Whether nulls are the only possible errors.
  bool is_right() const { return wrong_rows.empty() && !has_far_times; }
  // Whether rows are contiguous, of column->row_bytes() bytes each.
  bool is_plain() const {
    return !column->is_list && !column->is_text() && null_rows.empty() && null_items.empty() && is_right();
  }

 private:
  Status without_nulls(uint64_t first_value, uint64_t count) const;
  void put_nans(uint64_t first_value, bool is_null, Tensor& out) const;
  Status without_far_times(uint64_t first_value, const Tensor& out) const;
};

}  // namespace headrace::parquet
