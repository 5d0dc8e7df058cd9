// Pixels to encoded images: used by the operator encode_image. Pure but for memory; any thread.
#pragma once
#include <string>

#include "headrace/core/tensor.h"

namespace headrace {

enum class ChromaSubsampling : uint8_t { yuv420, yuv422, yuv444 };

// A uint8 image (height, width, 3) in RGB, or (height, width, 1) or (height, width) in grey, as a baseline
// JPEG of libjpeg-turbo with optimised Huffman tables. quality: 1 to 100, on libjpeg's scale.
Result<std::string> encode_jpeg(const View& image, int quality, ChromaSubsampling subsampling);

// The same, or with alpha as (height, width, 2 or 4), as a PNG of 8 bits; a uint16 image as one of 16.
Result<std::string> encode_png(const View& image);

}  // namespace headrace
