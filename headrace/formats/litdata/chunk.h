// LitData's chunks: their form is recognised by their bytes, not by index.json.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/litdata/leaves.h"
#include "headrace/formats/records/framed_files.h"

namespace headrace::litdata {

enum class ChunkForm : char {
  plain = 'p',   // a table of offsets, then the samples
  packed = 'z',  // the same in one zstd frame
  frames = 'f',  // "LDFZ01": the table, then zstd frames of samples
  arrow = 'a',   // "LDARW01": an Arrow IPC file of rows
};

// The contents of FileIndex::extra: the form, the learned leaves, and what the form needs to unpack.
struct ChunkContents {
  ChunkForm form = ChunkForm::plain;
  std::string learned;
  std::string rest;  // of `arrow`: its own extra; of `frames`: ChunkFrames::pack()
  std::string pack() const;
  static std::optional<ChunkContents> unpack(std::string_view bytes);
};

// FileIndex::records are samples, frames, the whole of a packed chunk, or Arrow batches. `samples`: their
// number in the index. `leaves`: learns from the first sample what only a sample has.
std::unique_ptr<Opening<FileIndex>> index_chunk(SourceFile file, uint64_t samples,
                                                std::optional<Leaves> leaves);

// The samples of a frame, and its place in the unpacked data of all frames.
struct ChunkFrame {
  uint64_t first = 0, count = 0, begin = 0, size = 0;  // samples; bytes
};
struct ChunkFrames {
  std::vector<uint32_t> offsets;  // of the samples in the unpacked data, and their end
  std::vector<ChunkFrame> frames;
  std::string pack() const;
  static std::optional<ChunkFrames> unpack(std::string_view bytes);
};

Result<UnpackedFrame> unpack_frame(const ChunkFrames& frames, uint64_t frame, const Record& packed);
Result<UnpackedFrame> unpack_whole(uint64_t samples, const Record& packed);

}  // namespace headrace::litdata
