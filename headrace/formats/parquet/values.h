// The values of one column for some rows of a row group.
#pragma once
#include <memory>
#include <vector>

#include "headrace/core/tensor.h"
#include "headrace/formats/parquet/encodings.h"
#include "headrace/formats/parquet/schema.h"

namespace headrace::parquet {

enum class Nulls { error, zero };

// Filled by a ChunkReader; not changed after.
struct Values {
  const Column* column = nullptr;  // outlives this
  uint64_t rows = 0;
  uint64_t first = 0;         // that was asked for: those before came along
  BufferPtr data;             // numbers, those of nulls zero
  std::vector<Piece> pieces;  // texts, in `buffers`
  std::vector<BufferPtr> buffers;
  std::vector<uint64_t> starts;  // of lists of free length: the first item of each row, and the number of all
  std::vector<uint8_t> null_rows, null_items;  // a byte each; empty when there is none
  size_t held = 0;                             // memory made beside the buffers that were given

  // Shares the bytes. `row` counts from `first`. REQUIRES: it is there.
  Status at(uint64_t row, Nulls nulls, Tensor& out) const;
  // Whether rows are copies of column->row_bytes() bytes one after the other.
  bool is_plain() const {
    return !column->is_list && !column->is_text() && null_rows.empty() && null_items.empty();
  }

 private:
  Status without_nulls(uint64_t first_item, Nulls nulls, Tensor& out) const;
};

}  // namespace headrace::parquet
