// One array of a hierarchy, from its metadata. Pure; any thread.
#pragma once
#include <string>
#include <string_view>

#include "headrace/core/tensor.h"
#include "headrace/formats/zarr/codecs.h"

namespace headrace::zarr {

struct Array {
  std::string path;   // in the store, without a slash at its ends; "": the root
  Dims shape, chunk;  // `chunk`: of a file, with the same number of axes
  Element element;
  std::string fill;
  Chain chain;
  char separator = '.';
  bool has_prefix = false;  // keys begin with "c"
  int version = 2;
  bool has_names = false;  // of its axes, in version 3
  bool has_fill = false;   // the fill value is stated
  Status refusal;          // why it cannot be read; then only the path is set

  bool has_rows() const { return !refusal.ok() || !shape.empty(); }
  uint64_t rows() const { return shape[0]; }
  TensorSpec spec() const;  // of a row

  // Chunks in shards are read individually if the shard has no other codecs.
  bool has_index() const { return chain.sharding && chain.packings.empty() && chain.is_row_major(); }
  // The unit of reading and decoding, and its codecs: a chunk, or a chunk in a shard.
  const Dims& cell() const { return has_index() ? chain.sharding->chunk : chunk; }
  const Chain& cell_chain() const { return has_index() ? *chain.sharding->inner : chain; }
  uint64_t cell_bytes() const { return product(cell()) * element.bytes; }
  uint64_t row_bytes() const;
  // Whether a decoded cell holds whole, contiguous rows.
  bool cells_are_rows() const;
  uint64_t cells_across() const;   // of one row
  uint64_t chunks_across() const;  // files of one row
  uint64_t chunks_in_shard() const { return product(chunk) / product(cell()); }
};

// From a .zarray, or a zarr.json of an array node. Errors and unsupported features become its refusal.
Array array_of_v2(std::string path, const Value& json);
Array array_of_v3(std::string path, const Value& json);

uint64_t count_along(uint64_t length, uint64_t chunk);  // chunks, including a partial last one

// "c/0/2": the path of the chunk at these coordinates, relative to the array.
std::string chunk_key(const Array& array, const Dims& at);

}  // namespace headrace::zarr
