// The innermost loop of our decoder: Huffman codes to coefficients, block after block. For entropy.cc, which
// sees to it that there is data.
#pragma once
#include "headrace/codecs/jpeg/huffman.h"

namespace headrace::jpeg {

// A block: what it is decoded with, and where it goes.
struct Turn {
  const Table* dc = nullptr;
  const Table* ac = nullptr;
  size_t component = 0;
  size_t place = 0;                                                  // of its first coefficient
  size_t number() const { return place / 128 * 2 + place / 8 % 2; }  // two blocks lie side by side
};

// Where decoding stands, from block to block and within one.
struct Progress {
  Bits bits;
  const Turn* turn;  // of the next block
  size_t k;          // of the next coefficient of the block before; 0: that one is whole
  // With `ends`, all coefficients are stored, and the last k of each block at its number. Otherwise only the
  // first ones, one after the other; they are the differences that the file has.
  int16_t* values;
  uint8_t* ends;
};

enum class Stop : uint8_t { complete, data, symbol };

// Decodes until the blocks before `end` are there, the bits come from behind `limit`, or a symbol must be
// read the long way. REQUIRES: 32 bytes behind `limit` can be read; values that are stored were zeros.
Stop decode_blocks(Progress& progress, const Turn* end, const uint8_t* limit);

// The next symbol, the long way. False when there is none. REQUIRES: as above; decode_blocks said so.
bool decode_symbol(Progress& progress);

}  // namespace headrace::jpeg
