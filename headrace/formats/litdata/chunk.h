// LitData's chunks: what one holds is told by its bytes, not by index.json.
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

// What FileIndex::extra holds: the form, what was learned of leaves, and what the form needs to unpack.
struct ChunkContents {
  ChunkForm form = ChunkForm::plain;
  std::string learned;
  std::string rest;  // of `arrow`: its own extra; of `frames`: pack_frames()
  std::string pack() const;
  static std::optional<ChunkContents> unpack(std::string_view bytes);
};

// FileIndex::records are samples, frames, the whole of a packed chunk, or Arrow's batches. `samples`: as many
// as the index says. `leaves`: learn from the first sample what only a sample can say.
std::unique_ptr<Opening<FileIndex>> index_chunk(SourceFile file, uint64_t samples,
                                                std::optional<Leaves> leaves);

// Of frames: the samples of each, in what it unpacks to.
struct ChunkFrame {
  uint64_t first = 0, count = 0, begin = 0, size = 0;  // begin: of all that is unpacked
};
struct ChunkFrames {
  std::vector<uint32_t> offsets;  // of the samples in all that is unpacked, and their end
  std::vector<ChunkFrame> frames;
  std::string pack() const;
  static std::optional<ChunkFrames> unpack(std::string_view bytes);
};

Result<UnpackedFrame> unpack_frame(const ChunkFrames& frames, uint64_t frame, const Record& packed);
Result<UnpackedFrame> unpack_whole(uint64_t samples, const Record& packed);

}  // namespace headrace::litdata
