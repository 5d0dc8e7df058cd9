// Plain PNG files straight to where their pixels belong: samples of 8 bits, no palette, not interlaced, no
// transparent colour. For spng.cc.
#pragma once
#include "headrace/codecs/image.h"
#include "headrace/codecs/png/inflated.h"

namespace headrace::png {

// Determined from the header and the requested colour.
bool is_plain(const Ihdr& ihdr, const ImageHeader& header, Color color);

// Contract: decode_image in image.h. False where a filter type is invalid. REQUIRES: is_plain.
Result<bool> decode_rows(const Ihdr& ihdr, const Inflated& inflated, const ImageHeader& header, Color color,
                         const Box& part, uint8_t* out, size_t row_stride, Scratch& scratch);

}  // namespace headrace::png
