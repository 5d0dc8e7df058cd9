// The innermost loop of our decoder: Huffman codes to coefficients, block after block. For entropy.cc, which
// sees to it that there is data.
#pragma once
#include <utility>

#include "headrace/codecs/jpeg/huffman.h"
#include "headrace/codecs/jpeg/passing.h"

namespace headrace::jpeg {

// A block: what it is decoded with, and where it goes.
struct Turn {
  const Table* dc = nullptr;
  const Table* ac = nullptr;
  const Passing* passing = nullptr;  // where it is passed over
  size_t component = 0;
  size_t place = 0;                                                  // of its first coefficient
  size_t number() const { return place / 128 * 2 + place / 8 % 2; }  // two blocks lie side by side
};

// Some blocks, and where decoding them stands, from block to block and within one.
struct Progress {
  Bits bits;
  const Turn* turn = nullptr;  // of the block that is decoded
  const Turn* end = nullptr;   // behind the last block
  size_t k = 0;                // of the next coefficient of that block
  // With `ends`, all coefficients are stored, and the last k of each block at its number. Otherwise only the
  // first ones, one after the other; they are the differences that the file has.
  int16_t* values = nullptr;
  uint8_t* ends = nullptr;
  const uint8_t* limit = nullptr;  // of the data that is at hand
};

// Why decoding stops: all blocks are there, the bits come from behind the limit, or there is no such code;
// none for blocks that could go on but for those beside them.
enum class Stop : uint8_t { none, complete, data, damage };

// Decodes until there is a reason to stop. REQUIRES: kReadBehind bytes behind the limit can be read; values
// that are stored were zeros.
Stop decode_blocks(Progress& progress);
// Two at once, until there is a reason to stop for either. A look-up waits for the one before, so that two
// that do not need each other take little longer than one.
std::pair<Stop, Stop> decode_blocks(Progress& one, Progress& other);

// The limit is looked at once for three look-ups. In between, each of them may take three refills, of 7 bytes
// at most: a long symbol at the end of a block, and one at the start of the next.
inline constexpr int64_t kReadBehind = 96;

}  // namespace headrace::jpeg
