// The bytes of some rows of a dataset as values. Pure; any thread.
#pragma once
#include "headrace/formats/hdf5/chunks/chunk_rows.h"

namespace headrace::hdf5 {

struct RowBytes {
  BufferPtr buffer;
  size_t offset = 0;  // of the first row

  const std::byte* row(const Dataset& dataset, uint64_t row) const {
    return buffer->data() + offset + row * dataset.row_bytes();
  }
};

// A leaf of the row-th of them. REQUIRES: no reference.
Tensor value_of(const Dataset& dataset, const Leaf& leaf, const RowBytes& rows, uint64_t row);
// A run of `count` values, or text, that begins at `offset` of `buffer`, which holds all of it.
Tensor run_of(const Leaf& leaf, const BufferPtr& buffer, uint64_t offset, uint64_t count);
// Whether rows are dense values of the leaf just as they lie.
bool is_plain(const Dataset& dataset, const Leaf& leaf);

}  // namespace headrace::hdf5
