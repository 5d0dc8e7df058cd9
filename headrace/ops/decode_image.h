// The parameters of decode_image, for the operators that replace it (ops/decode_resampled.h).
#pragma once
#include <optional>

#include "headrace/codecs/image.h"
#include "headrace/ops/op.h"

namespace headrace {

struct ImageDecoding {
  Color color = Color::rgb;
  bool upright = false;  // turned by the EXIF orientation
  int64_t max_pixels = kMaxImagePixels;
  bool scale_in_dct = false;
  std::optional<DType> wanted;  // dtype of the pixels; nothing: u8, of images that have no more bits

  DType dtype() const { return wanted.value_or(DType::u8); }
  // The header; an error when there are too many pixels, or their samples are not of that dtype.
  Result<ImageHeader> header(std::span<const std::byte> bytes) const;
  // (height, width, channels) of the decoded image.
  Shape shape(const ImageHeader& header) const;
};

// The parameters of `op` when it is decode_image(match="fast"); nothing otherwise.
std::optional<ImageDecoding> fast_decoding(const AnyOp& op);

}  // namespace headrace
