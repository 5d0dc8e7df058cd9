// The innermost loop of our decoder: Huffman codes to coefficients, block after block. For entropy.cc, which
// provides the data.
#pragma once
#include <utility>

#include "headrace/codecs/jpeg/huffman.h"
#include "headrace/codecs/jpeg/passing.h"

namespace headrace::jpeg {

// A block: its tables, and where it goes.
struct Turn {
  const Table* dc = nullptr;
  const Table* ac = nullptr;
  const Passing* passing = nullptr;  // when it is skipped
  size_t component = 0;
  size_t place = 0;                                                  // of its first coefficient
  size_t number() const { return place / 128 * 2 + place / 8 % 2; }  // two blocks are side by side
};

// Some blocks, and the decoding position, from block to block and within one.
struct Progress {
  Bits bits;
  const Turn* turn = nullptr;  // of the block that is decoded
  const Turn* end = nullptr;   // past the last block
  size_t k = 0;                // of the next coefficient of that block
  // With `ends`, all coefficients are stored, and the last k of each block at its number. Otherwise only the
  // first coefficients, one after the other; they are the differences in the file.
  int16_t* values = nullptr;
  uint8_t* ends = nullptr;
  const uint8_t* limit = nullptr;  // of the available data
};

// Why decoding stops: all blocks are there, the bits come from beyond the limit, or there is no such code;
// none for blocks that could go on but for the other stream.
enum class Stop : uint8_t { none, complete, data, damage };

// Decodes until there is a reason to stop. REQUIRES: kReadBehind bytes beyond the limit can be read; values
// that are stored were zeros.
Stop decode_blocks(Progress& progress);
// Two streams at once, until there is a reason to stop for either. A look-up depends on the one before, so
// two independent streams take little longer than one.
std::pair<Stop, Stop> decode_blocks(Progress& one, Progress& other);

// The limit is checked once per three look-ups. In between, each of them may take three refills, of 7 bytes
// at most: a long symbol at the end of a block, and one at the start of the next.
inline constexpr int64_t kReadBehind = 96;

}  // namespace headrace::jpeg
