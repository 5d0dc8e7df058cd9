// Our own decoder of baseline JPEG: a part of an image for little more than its share of the work, with the
// bytes of libjpeg-turbo. For jpeg.h only.
#pragma once
#include "headrace/codecs/image.h"

namespace headrace::jpeg {

// Contract: decode_image in image.h. False when the file is not for it or is not in order: then `out` holds
// anything, and libjpeg-turbo decodes or says what is wrong; also that the run was stopped.
bool decode_baseline(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                     const Box& part, uint8_t* out, size_t row_stride, Scratch& scratch);

}  // namespace headrace::jpeg
