// The pixels of a PNG file inflated as a whole by libdeflate, which takes half the time of zlib: for spng.cc
// and rows.cc.
#pragma once
#include <deque>
#include <vector>

#include "headrace/codecs/png/chunks.h"
#include "headrace/core/pool.h"
#include "headrace/core/status.h"

namespace headrace::png {

// Parts of files, read as one.
class Spliced {
 public:
  void add(Bytes part) { parts_.push_back(part); }  // must outlive this
  void add_copy(Bytes part) { add(copies_.emplace_back(part.begin(), part.end())); }
  // How much there was; less than `size` at the end.
  size_t read(std::byte* to, size_t size);

 private:
  std::vector<Bytes> parts_;
  std::deque<std::vector<std::byte>> copies_;
  size_t part_ = 0, at_ = 0;
};

class Inflated {
 public:
  // Nothing where that cannot be done: the file is not in order, the pixels are too many, or there is no
  // memory in `scratch`. All checksums are verified, of whatever chunks there are. An error only when the run
  // was stopped. REQUIRES: a file that read_png_header took.
  static Result<std::optional<Inflated>> make(Bytes file, Scratch& scratch);

  // Rows, a byte that names the filter before each; of all passes where the image is interlaced.
  std::span<const uint8_t> pixels() const { return pixels_; }
  // The file with its pixels in blocks that are not compressed, for a library that inflates itself: it only
  // copies them. The checksum of their chunk is not right.
  Spliced stored() const;
  // The file with one pixel, of whatever colour, in place of its own: everything else as it is.
  Spliced with_one_pixel() const;

 private:
  Bytes before_, after_;  // the file around its pixels, up to its end marker
  Bytes check_;           // of the pixels
  std::span<const uint8_t> pixels_;
};

}  // namespace headrace::png
