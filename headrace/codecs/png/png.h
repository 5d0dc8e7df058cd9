// PNG: the header by our own chunk walk, the pixels by libspng. For codecs/image.cc, which checks sizes; free
// functions, any thread. 1, 2 and 4 bits are scaled up to 0..255, 16 bits are kept. Gamma and colour
// profiles are ignored.
#pragma once
#include "headrace/codecs/image.h"

namespace headrace {

bool is_png(std::span<const std::byte> bytes);

// From chunk to chunk without inflating: size, channels (a tRNS chunk counts as alpha) and the orientation of
// eXIf. REQUIRES: is_png(bytes).
Result<ImageHeader> read_png_header(std::span<const std::byte> bytes);

// Contract: decode_image in image.h. A wrong checksum in any chunk is an error.
Status decode_png(std::span<const std::byte> bytes, const ImageHeader& header, Color color, const Box& part,
                  uint8_t* out, size_t row_stride, Scratch& scratch, std::string_view& decoder);

}  // namespace headrace
