// The pixels of a PNG file inflated as a whole by libdeflate, which takes half the time of zlib: for spng.cc
// and direct_rows.cc.
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "headrace/codecs/library_memory.h"
#include "headrace/codecs/png/chunks.h"
#include "headrace/core/status.h"

namespace headrace::png {

inline constexpr size_t kZlibCheck = 4;  // bytes

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

// Its memory is on the heap, charged to the budget while this lives: Scratch would keep it for later work.
class Inflated {
 public:
  explicit Inflated(Scratch& budget) : budget_(budget), memory_(budget) {}

  // Call once, before all others. False where it cannot be done: the file is damaged, or there are too many
  // pixels; an error where there is no memory, or the run was stopped. All checksums are verified, of every
  // chunk. REQUIRES: a file that read_png_header accepted.
  Result<bool> read(Bytes file);

  // Rows, each preceded by a byte with its filter; of all passes where the image is interlaced.
  std::span<const uint8_t> pixels() const { return {pixels_.get(), size_}; }
  // The file with its pixels in stored (uncompressed) blocks, for a library that inflates itself: it only
  // copies them. The checksum of their chunk is invalid.
  Spliced stored() const;
  // The file with one pixel, of any colour, in place of its own: everything else as it is.
  Spliced with_one_pixel() const;

 private:
  Scratch& budget_;
  LibraryMemory memory_;                       // of the pixels
  Bytes before_, after_;                       // the file around its pixels, up to its end marker
  std::array<std::byte, kZlibCheck> check_{};  // of the pixels
  std::unique_ptr<uint8_t[]> pixels_;
  size_t size_ = 0;
};

}  // namespace headrace::png
