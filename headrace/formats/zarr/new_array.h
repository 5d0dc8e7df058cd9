// An array being written: its shards as files, chunk by chunk, and its metadata. One thread.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/core/tensor.h"
#include "headrace/core/value.h"
#include "headrace/io/new_file.h"

namespace headrace::zarr {

enum class NewPacking : uint8_t { none, zstd, gzip };

struct NewOptions {
  NewPacking packing = NewPacking::zstd;
  int level = 0;
  uint64_t chunk_rows = 0, shard_rows = 0;  // 0: chosen automatically
};

class NewArray {
 public:
  // An error if such a field cannot be written.
  static Status check(const TensorSpec& spec, const NewOptions& options);
  // `folder`: of the array; must exist.
  NewArray(std::string folder, const TensorSpec& spec, const NewOptions& options);

  Status check_value(const View& value) const;  // before add(), which allocates memory
  Status add(const View& value);
  Status finish();         // passes all data to the system
  Value metadata() const;  // for zarr.json; after finish()

 private:
  Status add_row(std::string_view bytes);
  Status choose_chunk_rows();
  Status end_chunk();
  Status begin_shard();
  Status end_shard();
  Result<std::string> packed(std::string_view bytes) const;

  std::string folder_;
  TensorSpec spec_;
  NewOptions options_;
  uint64_t row_bytes_ = 0;
  uint64_t chunk_rows_ = 0, shard_chunks_ = 0;  // 0: not chosen yet
  uint64_t rows_ = 0, waiting_rows_ = 0, shards_ = 0;
  std::string waiting_;  // rows of the next chunk; the first strings until chunk_rows_ is chosen
  struct Chunk {
    uint64_t offset = 0, length = 0;
  };
  std::vector<Chunk> chunks_;  // of the current shard
  std::unique_ptr<AppendedFile> shard_;
};

}  // namespace headrace::zarr
