// One record batch of an Arrow IPC file: its metadata, and its columns' bytes once they are there.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/formats/source.h"
#include "tests/sources/arrow_schema.h"

namespace headrace::trial {

enum class ArrowCodec : int8_t { none = -1, lz4 = 0, zstd = 1 };

// Where a buffer lies in the body of its message.
struct ArrowPiece {
  uint64_t offset = 0, length = 0;
};

struct ArrowBatch {
  uint64_t num_rows = 0;
  ArrowCodec codec = ArrowCodec::none;
  std::vector<ArrowPiece> pieces;  // all buffers, each within the body

  // From the encapsulated message (continuation, length, flatbuffer); everything the columns need is checked.
  static Result<ArrowBatch> read(std::span<const std::byte> message, uint64_t body_length,
                                 const ArrowSchema& schema, const std::vector<ArrowColumn>& columns);
};

// How many buffers, from `column.buffer` on, a column's values take.
int num_buffers(const ArrowColumn& column);

// A buffer as stored, without its compression.
struct ArrowBytes {
  BufferPtr buffer;
  size_t offset = 0, size = 0;
  bool made = false;  // inflated into memory of its own
};
Result<ArrowBytes> inflate_arrow(ArrowCodec codec, const BufferPtr& stored);

// `buffers` are the chosen columns' buffers, in order, num_buffers() each, not compressed. Offsets are
// validated once, here.
Result<BlockPtr> make_arrow_block(const std::vector<ArrowColumn>& columns, uint64_t num_rows,
                                  std::vector<ArrowBytes> buffers);

}  // namespace headrace::trial
