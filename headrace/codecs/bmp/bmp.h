// BMP: the contents of its headers. For bmp.cc and its test.
#pragma once
#include <array>

#include "headrace/codecs/image.h"

namespace headrace::bmp {

enum class Packing : uint8_t { raw = 0, rle8 = 1, rle4 = 2, bit_fields = 3 };

// Where a channel is in a pixel of 16, 24 or 32 bits.
struct BitField {
  int shift = 0, bits = 0;  // 0 bits: absent
};

struct Layout {
  int64_t height = 0, width = 0;
  bool top_down = false;
  int bits = 0;  // per pixel: 1, 4 or 8 are indexes of the palette
  Packing packing = Packing::raw;
  std::array<BitField, 4> fields;          // red, green, blue, alpha
  std::array<uint8_t, 256 * 3> palette{};  // RGB; indexes without a colour are black, or grey
  bool is_gray = false;                    // the palette is grey, or black and white
  size_t pixels = 0;                       // where they begin

  bool has_palette() const { return bits <= 8; }
  bool has_alpha() const { return !has_palette() && fields[3].bits > 0; }
  bool is_run_length_coded() const { return packing == Packing::rle8 || packing == Packing::rle4; }
  uint64_t row_bytes() const {  // rows are padded to a multiple of four bytes
    return (static_cast<uint64_t>(width) * static_cast<uint64_t>(bits) + 31) / 32 * 4;
  }
};

Result<Layout> read_layout(std::span<const std::byte> bytes);

}  // namespace headrace::bmp
