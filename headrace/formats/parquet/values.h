// The values of one column for some rows of a row group.
#pragma once
#include <memory>
#include <vector>

#include "headrace/core/tensor.h"
#include "headrace/formats/nulls.h"
#include "headrace/formats/parquet/encodings.h"
#include "headrace/formats/parquet/schema.h"

namespace headrace::parquet {

// Filled by a ChunkReader; not changed after.
struct Values {
  const Column* column = nullptr;  // outlives this
  uint64_t rows = 0;
  uint64_t first = 0;         // that was asked for: those before came along
  BufferPtr data;             // numbers, those of nulls zero
  std::vector<Piece> pieces;  // texts, in `buffers`; of lists of them one a row, and their lengths in `data`
  std::vector<BufferPtr> buffers;
  // The first value of each row and the number of all: of lists of free length, and of others when some are
  // not as long as they should be.
  std::vector<uint64_t> starts;
  std::vector<uint8_t> null_rows, null_items;  // a byte each; empty when there is none
  std::vector<uint8_t> wrong_rows;             // whose lists are of other lengths than the column's; the same
  bool has_far_times = false;                  // kTooEarly or kTooLate
  size_t held = 0;                             // memory made beside the buffers that were given

  // Shares the bytes. `row` counts from `first`. REQUIRES: it is there.
  Status at(uint64_t row, Nulls nulls, Tensor& out) const;
  // How long the texts of each row's list are: the values of column `of`, which is of the same leaf. Shares
  // them.
  Values lengths(const Column& of) const;
  // Whether the only errors that there may be are nulls.
  bool is_right() const { return wrong_rows.empty() && !has_far_times; }
  // Whether rows are copies of column->row_bytes() bytes one after the other.
  bool is_plain() const {
    return !column->is_list && !column->is_text() && null_rows.empty() && null_items.empty() && is_right();
  }

 private:
  Status without_nulls(uint64_t first_value, uint64_t count) const;
  void put_nans(uint64_t first_value, bool is_null, Tensor& out) const;
  Status without_far_times(uint64_t first_value, const Tensor& out) const;
};

}  // namespace headrace::parquet
