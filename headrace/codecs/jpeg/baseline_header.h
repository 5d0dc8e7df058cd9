// The headers of a baseline JPEG, before its entropy-coded data: for our own decoder (baseline.cc).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "headrace/codecs/image.h"

namespace headrace::jpeg {

struct Component {
  int h = 1, v = 1;               // sampling factors
  int quant = 0, dc = 0, ac = 0;  // which tables
};

// The code lengths and symbols of one Huffman table, in place in the file.
using TableBytes = std::span<const std::byte>;

struct Scan {
  static constexpr size_t kMostBlocks = 10;  // of an MCU

  int64_t height = 0, width = 0;
  int components = 0;  // 1, or 3 that are YCbCr
  std::array<Component, 3> component;
  int h_most = 1, v_most = 1;
  int restart_interval = 0;                       // MCUs; 0: no restart markers
  std::array<std::array<uint16_t, 64>, 4> quant;  // in natural order
  std::array<TableBytes, 4> dc, ac;               // 16 counts, then the symbols; empty when not given
  std::span<const std::byte> data;                // entropy-coded, to the end of the file

  int64_t mcu_width() const { return 8 * h_most; }
  int64_t mcu_height() const { return 8 * v_most; }
  int64_t mcus_across() const { return (width + mcu_width() - 1) / mcu_width(); }
  int64_t mcus_down() const { return (height + mcu_height() - 1) / mcu_height(); }
  // Blocks of a component in an MCU.
  int blocks_of(int c) const {
    return component[static_cast<size_t>(c)].h * component[static_cast<size_t>(c)].v;
  }
  // Pixels that one of its samples covers.
  int across_of(int c) const { return h_most / component[static_cast<size_t>(c)].h; }
  int down_of(int c) const { return v_most / component[static_cast<size_t>(c)].v; }
  // Samples of a component that belong to the image.
  int64_t width_of(int c) const { return (width + across_of(c) - 1) / across_of(c); }
  int64_t height_of(int c) const { return (height + down_of(c) - 1) / down_of(c); }
};

// Nothing for files that our decoder leaves to libjpeg-turbo: other processes than sequential Huffman of 8
// bits, several scans, colours that are not YCbCr, components whose samples do not cover a whole number of
// pixels (which libjpeg-turbo refuses), and any header that is not plainly valid.
std::optional<Scan> read_scan(std::span<const std::byte> file);
// Also nothing for a file for which read_jpeg_header returned something else.
std::optional<Scan> read_scan_of(std::span<const std::byte> file, const ImageHeader& header);

// From zigzag order, in which a file holds coefficients, to natural order (8 * row + column).
inline constexpr std::array<uint8_t, 64> kNaturalOrder{
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

}  // namespace headrace::jpeg
