// Converts the bytes of some rows of a dataset to values. Pure; any thread.
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

// The value of a leaf in a row. REQUIRES: not a reference.
Tensor value_of(const Dataset& dataset, const Leaf& leaf, const RowBytes& rows, uint64_t row);
// A sequence of `count` values, or a string, at `offset` of `buffer`, which holds all of it.
Tensor run_of(const Leaf& leaf, const BufferPtr& buffer, uint64_t offset, uint64_t count);
// Whether the stored rows are exactly the values of the leaf.
bool is_plain(const Dataset& dataset, const Leaf& leaf);

}  // namespace headrace::hdf5
