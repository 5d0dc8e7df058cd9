// Any JPEG through libjpeg-turbo. For jpeg.h only.
#pragma once
#include "headrace/codecs/image.h"

namespace headrace::jpeg {

// Contract: decode_image in image.h.
Status decode_with_turbo(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                         const Box& part, uint8_t* out, size_t row_stride, Scratch& scratch);

}  // namespace headrace::jpeg
