// What decode_image is told, for the operators that stand in for it (ops/decode_resampled.h).
#pragma once
#include <optional>

#include "headrace/codecs/image.h"
#include "headrace/ops/op.h"

namespace headrace {

struct ImageDecoding {
  Color color = Color::rgb;
  bool upright = false;  // turned as the EXIF tag says
  int64_t max_pixels = kMaxImagePixels;
  bool scale_in_dct = false;

  // The header, unless there are too many pixels.
  Result<ImageHeader> header(std::span<const std::byte> bytes) const;
  // (height, width, channels) of the decoded image.
  Shape shape(const ImageHeader& header) const;
};

// What `op` was told when it is decode_image(match="fast"); nothing otherwise.
std::optional<ImageDecoding> fast_decoding(const AnyOp& op);

}  // namespace headrace
