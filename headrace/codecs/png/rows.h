// Plain PNG files straight to where their pixels belong: samples of 8 bits, not interlaced, no colour that is
// transparent. For spng.cc.
#pragma once
#include "headrace/codecs/image.h"
#include "headrace/codecs/png/inflated.h"

namespace headrace::png {

// Contract: decode_image in image.h. False where the file is not for this, or not in order.
Result<bool> decode_rows(const Ihdr& ihdr, const Inflated& inflated, const ImageHeader& header, Color color,
                         const Box& part, uint8_t* out, size_t row_stride, Scratch& scratch);

}  // namespace headrace::png
