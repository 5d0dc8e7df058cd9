// From bytes to bytes: a chunk's compressions, checksums and shuffles, undone one by one. Pure; any bytes may
// be given.
#pragma once
#include <span>
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/formats/zarr/codecs.h"

namespace headrace::zarr {

inline constexpr uint64_t kAnySize = ~uint64_t{0};

class Unpacking {
 public:
  // `plain`: the size of what the first was given; kAnySize where nobody knows.
  Unpacking(std::span<const Packing> packings, uint64_t plain);

  // All of them; straight into `out` where it is the last that unpacks. Else what they gave.
  Result<std::span<const std::byte>> run(std::span<const std::byte> bytes, std::span<std::byte> out,
                                         bool* is_in_out);
  const BufferPtr& held() const { return held_; }  // what run() gave lies in; null: in what it was given

 private:
  Result<BufferPtr> undone(const Packing& packing, std::span<const std::byte> bytes, uint64_t size) const;

  std::span<const Packing> packings_;
  std::vector<uint64_t> sizes_;  // of what each was given
  uint64_t most_ = kAnySize;     // bytes that anything in between may have
  BufferPtr held_;
};

Status wrong_chunk_size(uint64_t wanted, uint64_t got);
Result<std::span<const std::byte>> without_crc32c(std::span<const std::byte> bytes);
BufferPtr buffer_of(std::string bytes);

}  // namespace headrace::zarr
