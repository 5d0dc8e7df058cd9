// A column being written: a field of samples, or strings of a list, as PLAIN pages, one row group after the
// other. One thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headrace/core/tensor.h"
#include "headrace/formats/columns.h"
#include "headrace/formats/parquet/metadata.h"
#include "headrace/formats/parquet/writing/new_thrift.h"
#include "headrace/formats/parquet/writing/new_tree.h"

namespace headrace::parquet {

// The footer's entry for a column of a row group; offsets are relative to the chunk until its position is
// known.
struct NewChunk {
  uint64_t offset = 0, size = 0, unpacked = 0, values = 0;
  std::vector<PagePlace> pages;
  std::string least, most;  // empty: unknown
  uint64_t index_offset = 0, index_size = 0;
};

class NewColumn {
 public:
  // An error when Parquet has no column type for such a field. `path`: the names of the structs around it,
  // then its own.
  static Result<NewColumn> make(FieldColumn column, Path path, bool is_zstd);

  void describe(NewThrift& out) const;  // its elements of the schema
  int elements() const { return 1 + 2 * spec_dims(); }
  void describe(const NewChunk& chunk, NewThrift& out) const;  // its ColumnMetaData

  // Checks that it is not too long for a page, and that strings of a list match their lengths.
  Status check(const std::vector<Tensor>& fields) const;
  void add(const std::vector<Tensor>& fields);       // REQUIRES: check()
  uint64_t bytes() const { return values_.size(); }  // of the current page
  uint64_t chunk_bytes() const { return chunk_.size(); }
  // Ends the page; `row`: its first row in the row group.
  Status end_page(uint64_t row);
  // All pages of the row group, and their metadata. Starts the next row group.
  NewChunk end_chunk(std::string& pages);

 private:
  NewColumn(FieldColumn column, Path path, bool is_zstd)
      : column_(std::move(column)), path_(std::move(path)), spec_(column_.spec), is_zstd_(is_zstd) {}
  // Number of nested lists.
  int spec_dims() const { return is_text(spec_.dtype) ? (column_.is_texts ? 1 : 0) : spec_.shape.rank(); }
  Physical physical() const;
  void add_levels(const Shape& shape, int dim, uint8_t rep);
  void add_texts(const std::vector<Tensor>& fields);
  void note(const View& value);
  std::string level_bytes(const std::vector<uint8_t>& levels, int most) const;

  FieldColumn column_;
  Path path_;
  TensorSpec spec_;
  bool is_zstd_;
  std::string values_;
  std::vector<uint8_t> reps_, defs_;
  uint64_t count_ = 0;  // of leaf values
  std::string chunk_;
  NewChunk about_;
  bool has_bounds_ = true;
};

}  // namespace headrace::parquet
