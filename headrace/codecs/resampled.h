// Pictures cropped from an encoded image and resampled, without materialising the whole image: the equivalent
// of decode_image(match="fast") followed by crop, resize and flip.
#pragma once
#include "headrace/codecs/entropy_points.h"
#include "headrace/codecs/image.h"
#include "headrace/kernels/taps.h"

namespace headrace {

// One picture: the pixels of `from` (no others count), resampled to height x width; of those the window, from
// right to left when mirrored.
struct Resampled {
  Box from;
  int64_t height = 1, width = 1;
  Box window;
  bool mirrored = false;
  kernels::Interpolation interpolation = kernels::Interpolation::bilinear;
  bool antialias = true;
  bool scale_in_dct = false;  // may be made from a smaller image, where a JPEG gives one for less work
};

// How much smaller than the image decoded by scale_in_dct a picture is at least. 260 photographs to 56 x 56,
// compared with the picture of the whole image: 42 dB on average with 1, 48 with 1.5, 50 with 2; large ones
// take as long with each.
inline constexpr int64_t kLeastShrinking = 2;

// Takes the rows of a picture in order; from the first one again when a file turns out to be damaged.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // planes[c] holds the window.w values of channel c in row y of the window, valid during the call.
  virtual void take(int64_t y, const uint8_t* const* planes) = 0;
};

// Decodes what the pictures need and passes their rows to the sinks, one for each. Boxes are those of the
// upright image when `upright`, else of the image as it is stored. `header` and `bytes` as for decode_image;
// its rules for damage apply.
//
// A JPEG that our own decoder supports is resampled plane by plane, chroma at its own resolution
// (jpeg/README.md); anything else is decoded and resized as decode_image and kernels/resize.h do. The choice
// depends on the file and the picture alone, whatever other pictures are made: a file that is damaged, or
// holds coefficients that no encoder makes, where a picture needs it is left to the other way. Rows may have
// been taken when an error comes.
//
// For a picture that allows it (scale_in_dct), such a JPEG is decoded at 1/2, 1/4 or 1/8 of its size
// (kernels/idct_reduced.h): the smallest of which the picture, antialiased, is still shrunk to its grid by
// kLeastShrinking. Others are made from all of it.
//
// A store saves work on parts of the file that no picture needs; it changes no byte.
Status decode_resampled(std::span<const std::byte> bytes, const ImageHeader& header, Color color,
                        bool upright, std::span<const Resampled> pictures, std::span<RowSink* const> sinks,
                        Scratch& scratch, PointStore* store = nullptr, std::string_view* decoder = nullptr);

// All entropy points of a file, for a PointStore; none where it has no use for them, or when the run of
// `scratch` is stopped.
EntropyPoints find_entropy_points(std::span<const std::byte> bytes, int64_t step, const Scratch& scratch);

}  // namespace headrace
