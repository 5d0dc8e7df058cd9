// Riegeli's blocks and chunks, as far as ArrayRecord uses them. Pure; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "headrace/formats/records/framed_files.h"

namespace headrace {

inline constexpr uint64_t kRiegeliBlock = 65536, kRiegeliBlockHeader = 24, kRiegeliChunkHeader = 40;

// A chunk's bytes, read once, without the headers at multiples of 64 KiB in the file.
struct WithoutBlockHeaders {
  Record bytes;                  // shared if they are few and contained no header
  std::optional<uint64_t> hash;  // of the chunk's data, if wanted and the data were copied
};
// `begin`: where `bytes` begin in the file.
WithoutBlockHeaders without_block_headers(const Record& bytes, uint64_t begin, bool wants_hash,
                                          MadeBytes& memory);

struct RiegeliChunk {
  char type = 0;  // 'r': records one after the other, 'p': padding, …
  uint64_t num_records = 0, decoded_size = 0;
  std::span<const std::byte> data;
};
// The chunk at the start of `bytes`, without block headers. `verify`: its data are compared with their hash,
// whose computed value the caller may pass as `hash`; its header is always compared.
Result<RiegeliChunk> riegeli_chunk(std::span<const std::byte> bytes, bool verify,
                                   std::optional<uint64_t> hash = std::nullopt);

// The records of a chunk of type 'r'; plain ones share the bytes, others are in `memory`. `bytes`: the buffer
// that contains the chunk, which may be in `memory`, too.
Status riegeli_records(const RiegeliChunk& chunk, const BufferPtr& bytes, MadeBytes& memory,
                       UnpackedFrame& out);

}  // namespace headrace
