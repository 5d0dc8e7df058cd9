// An array in the making: its shards as files, chunk by chunk, and its metadata. One thread.
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
  uint64_t chunk_rows = 0, shard_rows = 0;  // 0: as many as are sensible
};

class NewArray {
 public:
  // An error where such fields cannot be written.
  static Status check(const TensorSpec& spec, const NewOptions& options);
  // `folder`: of the array, which is there.
  NewArray(std::string folder, const TensorSpec& spec, const NewOptions& options);

  Status check_value(const View& value) const;  // before add(), which takes memory
  Status add(const View& value);
  Status finish();         // all is with the system
  Value metadata() const;  // of zarr.json; once it is finished

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
  uint64_t chunk_rows_ = 0, shard_chunks_ = 0;  // 0: not known yet
  uint64_t rows_ = 0, waiting_rows_ = 0, shards_ = 0;
  std::string waiting_;  // rows of the next chunk; the first texts, while it is not known how many that are
  struct Chunk {
    uint64_t offset = 0, length = 0;
  };
  std::vector<Chunk> chunks_;  // of the shard
  std::unique_ptr<AppendedFile> shard_;
};

}  // namespace headrace::zarr
