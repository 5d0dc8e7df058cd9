// The pixels of a PNG file inflated as a whole by libdeflate, which takes half the time of zlib: for spng.cc
// and rows.cc.
#pragma once
#include <array>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "headrace/codecs/png/chunks.h"
#include "headrace/core/pool.h"
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

// Memory from the heap that is charged to a budget as long as it is held: Scratch would keep it for what
// comes after.
class Room {
 public:
  Room() = default;
  Room(Scratch& budget, size_t size);  // empty when over budget
  Room(Room&& other) noexcept { swap(other); }
  Room& operator=(Room&& other) noexcept { return swap(other), *this; }
  ~Room() {
    if (budget_) budget_->uncharge(bytes_.size());
  }
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  void swap(Room& other) {
    std::swap(budget_, other.budget_), std::swap(memory_, other.memory_), std::swap(bytes_, other.bytes_);
  }
  Scratch* budget_ = nullptr;
  std::unique_ptr<std::byte[]> memory_;
  std::span<std::byte> bytes_;
};

class Inflated {
 public:
  // Nothing where that cannot be done: the file is not in order, or the pixels are too many; an error where
  // there is no memory, or the run was stopped. All checksums are verified, of whatever chunks there are.
  // REQUIRES: a file that read_png_header took, and `budget` that outlives this.
  static Result<std::optional<Inflated>> make(Bytes file, Scratch& budget);

  // Rows, a byte that names the filter before each; of all passes where the image is interlaced.
  std::span<const uint8_t> pixels() const {
    return {reinterpret_cast<const uint8_t*>(pixels_.bytes().data()), pixels_.bytes().size()};
  }
  // The file with its pixels in blocks that are not compressed, for a library that inflates itself: it only
  // copies them. The checksum of their chunk is not right.
  Spliced stored() const;
  // The file with one pixel, of whatever colour, in place of its own: everything else as it is.
  Spliced with_one_pixel() const;

 private:
  Bytes before_, after_;                       // the file around its pixels, up to its end marker
  std::array<std::byte, kZlibCheck> check_{};  // of the pixels
  Room pixels_;
};

}  // namespace headrace::png
