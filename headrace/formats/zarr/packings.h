// From bytes to bytes: undoes a chunk's compressions, checksums and shuffles one by one. Pure; accepts any
// bytes.
#pragma once
#include <span>
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/formats/zarr/codecs.h"

namespace headrace::zarr {

inline constexpr uint64_t kAnySize = ~uint64_t{0};

class Unpacking {
 public:
  // `plain`: the size of the input of the first; kAnySize if unknown.
  Unpacking(std::span<const Packing> packings, uint64_t plain);

  // Undoes all of them, directly into `out` if the last step decompresses. Otherwise returns the resulting
  // bytes.
  Result<std::span<const std::byte>> run(std::span<const std::byte> bytes, std::span<std::byte> out,
                                         bool* is_in_out);
  const BufferPtr& held() const { return held_; }  // owns run()'s result; null: it is in the input

 private:
  Result<BufferPtr> undone(const Packing& packing, std::span<const std::byte> bytes, uint64_t size) const;

  std::span<const Packing> packings_;
  std::vector<uint64_t> sizes_;  // of the input of each
  uint64_t most_ = kAnySize;     // largest size of an intermediate result
  BufferPtr held_;
};

Status wrong_chunk_size(uint64_t wanted, uint64_t got);
Result<std::span<const std::byte>> without_crc32c(std::span<const std::byte> bytes);
BufferPtr buffer_of(std::string bytes);

}  // namespace headrace::zarr
