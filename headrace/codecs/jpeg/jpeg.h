// JPEG: the header by our own marker parser, the pixels by our own decoder or by libjpeg-turbo (README.md).
// For codecs/image.cc, which checks sizes; free functions, any thread.
#pragma once
#include "headrace/codecs/resampled.h"

namespace headrace {

bool is_jpeg(std::span<const std::byte> bytes);

// Marker by marker up to the frame header, without touching entropy-coded data. REQUIRES: is_jpeg(bytes).
// `unavailable` for what the decoder cannot read at all: lossless, hierarchical, 12 bits.
Result<ImageHeader> read_jpeg_header(std::span<const std::byte> bytes);

// The bytes of libjpeg-turbo's default decode (exact integer DCT, smooth upsampling). Contract: decode_image
// in image.h.
Status decode_jpeg(std::span<const std::byte> bytes, const ImageHeader& header, Color color, const Box& part,
                   uint8_t* out, size_t row_stride, Scratch& scratch, std::string_view& decoder);

// Contract: decode_resampled in resampled.h, for an image as it is stored. False when the caller must use
// decode_jpeg.
Result<bool> resample_jpeg(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                           std::span<const Resampled> pictures, std::span<RowSink* const> sinks,
                           PointStore* store, Scratch& scratch, std::string_view& decoder);

}  // namespace headrace
