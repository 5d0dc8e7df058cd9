// Our own decoder of baseline JPEG: decodes a part of an image for little more than its share of the work,
// with the bytes of libjpeg-turbo. For jpeg.h only.
#pragma once
#include "headrace/codecs/image.h"

namespace headrace::jpeg {

// Contract: decode_image in image.h. False when the file is not supported or damaged, and when the run was
// stopped: then `out` is undefined, and libjpeg-turbo decodes or reports the error.
bool decode_baseline(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                     const Box& part, uint8_t* out, size_t row_stride, Scratch& scratch);

}  // namespace headrace::jpeg
