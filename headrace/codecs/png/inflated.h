// The pixels of a PNG file inflated as a whole by libdeflate, which takes half the time of zlib: for spng.cc
// and rows.cc.
#pragma once
#include "headrace/codecs/png/chunks.h"
#include "headrace/core/pool.h"

namespace headrace::png {

class Inflated {
 public:
  // Nothing where that cannot be done: the file is not in order, the pixels are too many, or there is no
  // memory in `scratch`. All checksums are verified, of whatever chunks there are. REQUIRES: a file that
  // read_png_header took.
  static std::optional<Inflated> make(Bytes file, Scratch& scratch);

  // Rows, a byte that names the filter before each; of all passes where the image is interlaced.
  std::span<const uint8_t> pixels() const { return pixels_; }
  // The same file with its pixels in blocks that are not compressed, for a library that inflates itself: it
  // only copies them. The checksum of their chunk is not right. pixels() are gone then.
  Bytes as_file() &&;

 private:
  Bytes before_, after_;  // the file around its pixels
  Bytes check_;           // of the pixels
  std::span<std::byte> room_;
  std::span<uint8_t> pixels_;  // at the end of the room, but for what follows them
};

}  // namespace headrace::png
