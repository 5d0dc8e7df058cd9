// Where transformed blocks go, and pictures read them from: rows of a plane side by side. For planes.cc.
#pragma once
#include <array>
#include <cstring>

#include "headrace/codecs/jpeg/picture.h"

namespace headrace::jpeg {

// Of one plane, kStripRows rows each, or of both planes of chroma, kSide rows of each in every strip. One
// strip takes some rows of blocks; those of an MCU row may need several strips, and a strip may take many MCU
// rows.
class Strips {
 public:
  // `h` x `v` blocks of an MCU. REQUIRES: planes is 1 or 2.
  void set(int h, int v, int side, int planes) {
    h_ = h, v_ = v, side_ = side;
    blocks_ = kernels::kStripRows / planes / side;
  }

  // For the columns of these MCUs, and what a window may read beyond. Enough strips for a row of MCUs, or for
  // two where they are decoded side by side. False without memory.
  bool take(Range mcus, bool two_rows, int32_t window, Memory& memory) {
    origin_ = mcus.begin * h_ * side_, columns_ = (mcus.end - mcus.begin) * h_ * side_;
    count_ = v_ % blocks_ == 0 ? v_ / blocks_ * (two_rows ? 2 : 1) : blocks_ % v_ == 0 ? 1 : 2;
    const auto size = static_cast<size_t>((columns_ + window) * kernels::kStripRows);
    for (int64_t i = 0; i < count_; ++i) {
      const auto room = memory.take<int16_t>(size);
      if (room.empty()) return false;
      std::memset(room.data(), 0, size * sizeof(int16_t));
      data_[static_cast<size_t>(i)] = room.data();
    }
    return true;
  }

  int64_t origin() const { return origin_; }    // the first column
  int64_t columns() const { return columns_; }  // how many
  // Row `v` of blocks in a row of MCUs, from the first column on: blocks follow each other side by side.
  int16_t* line(int64_t row, int v, int plane) const {
    const int64_t block = row * v_ + v;
    return strip(block) + block % blocks_ * side_ + plane * kSide;
  }
  // From a line's first column to its block of MCU `mcu`.
  int64_t to_mcu(int64_t mcu) const { return (mcu * h_ * side_ - origin_) * kernels::kStripRows; }
  // The strip that contains row y of the plane.
  int16_t* data(int64_t y) const { return strip(y / side_); }
  // Whether an MCU row and the next go to different places.
  bool have_room(int64_t row) const {
    return v_ % blocks_ == 0 || (blocks_ % v_ == 0 && (row + 1) % (blocks_ / v_) != 0);
  }
  // Calls f with each strip that this MCU row completes, or begins while no row follows: with its first row
  // and how many are there.
  template <class F> void for_whole(int64_t row, bool is_last, F&& f) const {
    const int64_t end = (row + 1) * v_;  // of the blocks that are there
    for (int64_t block = row * v_ / blocks_ * blocks_; block < end; block += blocks_)
      if (const int64_t there = std::min(end - block, blocks_); is_last || there == blocks_)
        f(block * side_, there * side_);
  }

 private:
  static constexpr size_t kMost = 8;  // for two MCU rows of four blocks

  int16_t* strip(int64_t block) const { return data_[static_cast<size_t>(block / blocks_ % count_)]; }

  int64_t h_ = 1, v_ = 1, side_ = kSide;
  int64_t blocks_ = 1;  // that are below each other in a strip
  int64_t origin_ = 0, columns_ = 0, count_ = 0;
  std::array<int16_t*, kMost> data_{};
};

}  // namespace headrace::jpeg
