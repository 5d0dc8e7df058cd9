// Plain PNG files straight to where their pixels belong: samples of 8 bits, no palette, not interlaced, no
// colour that is transparent. For spng.cc.
#pragma once
#include "headrace/codecs/image.h"
#include "headrace/codecs/png/inflated.h"

namespace headrace::png {

// Seen from the header and what is wanted.
bool is_plain(const Ihdr& ihdr, const ImageHeader& header, Color color);

// Contract: decode_image in image.h. False where a filter is none. REQUIRES: is_plain.
Result<bool> decode_rows(const Ihdr& ihdr, const Inflated& inflated, const ImageHeader& header, Color color,
                         const Box& part, uint8_t* out, size_t row_stride, Scratch& scratch);

}  // namespace headrace::png
