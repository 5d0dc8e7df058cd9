// Encoded images to pixels: the interface of all image codecs for operators. A file is recognised by its
// content, never by its name. Everything here is a pure function of its arguments and may be called from
// several threads at once.
//
//   // Cheap: no pixel is decoded.
//   HEADRACE_ASSIGN(const ImageHeader header, read_image_header(bytes));
//   const size_t row = header.width * decoded_channels(header, Color::rgb);
//   ... find header.height * row bytes of memory ...
//   HEADRACE_TRY(decode_image(bytes, header, Color::rgb, header.whole(), pixels, row, scratch));
//
// Bytes are untrusted: a header is refused when its file cannot possibly hold the pixels it claims, so that a
// few bytes cannot make the engine reserve gigabytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "headrace/core/box.h"
#include "headrace/core/dtype.h"
#include "headrace/core/pool.h"
#include "headrace/core/status.h"

namespace headrace {

struct ImageCodec;  // codec.h

struct ImageHeader {
  const ImageCodec* codec = nullptr;  // the codec that reads it: set by read_image_header
  int64_t height = 0, width = 0;
  int channels = 0;  // as `Color::unchanged` gives them: 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA or CMYK
  bool is_cmyk = false;
  int bit_depth = 8;    // per channel in the file
  int orientation = 1;  // EXIF 1..8; 1 when the file has none
  // Whether pixels can be the stored numbers: of a palette, or grey that the format keeps as it is.
  bool has_indexes = false;
  DType dtype = DType::u8;  // that holds its samples: u8 for up to 8 bits, u16 for up to 16, f32 for floats
  uint16_t most = 255;      // where that is u16: the number that is white, and opaque

  Box whole() const { return {0, 0, height, width}; }
};

enum class Color : uint8_t {
  rgb,        // 3 channels: grey is replicated, a palette expanded, alpha dropped, CMYK converted
  gray,       // 1 channel: of a JPEG its luma plane, otherwise (19595 R + 38470 G + 7471 B) / 65536
  unchanged,  // the file's own channels; a palette becomes RGB, a transparent colour becomes alpha
  index,      // 1 channel: the stored numbers, of a palette or grey; see check_color
};

inline constexpr int64_t kMaxImageSide = 65500;  // libjpeg's own limit, applied to every format
inline constexpr int64_t kMaxImagePixels =
    178956970;  // twice Pillow's MAX_IMAGE_PIXELS, where it refuses too

Result<ImageHeader> read_image_header(std::span<const std::byte> bytes);
std::string_view image_format_name(const ImageHeader& header);  // "JPEG"

constexpr int decoded_channels(const ImageHeader& header, Color color) {
  return color == Color::rgb ? 3 : color == Color::unchanged ? header.channels : 1;
}

// `unavailable` for Color::index of an image that has no stored numbers to give.
Status check_color(const ImageHeader& header, Color color);

// Whether decode_samples can give this dtype: u8 of any image, what the image has (header.dtype), and u16 of
// Color::index.
bool gives_samples(const ImageHeader& header, Color color, DType dtype);

// Decodes at least the pixels of `part`, each to its place among header.height rows of header.width *
// decoded_channels(header, color) bytes, `row_stride` bytes apart; the rest of `out` is undefined. The bytes
// do not depend on `part`. `header` is what read_image_header returned for the same bytes; `part` is within
// the image and not empty; check_color accepts it.
//
// Damaged data is an error, never grey pixels. Damage below `part`, or right of it in its last rows, may go
// unnoticed, except in a JPEG that does not end with its end marker: that one is decoded to its end, so that
// a truncated file is always an error.
//
// Samples of more than 8 bits are narrowed to their high 8 bits (floats: 0 is black, 1 is white). Call this
// only where that loses nothing of importance, or where the user asked for uint8.
//
// `decoder`: where to put the name of what decoded the image, a literal, for reports; null where nobody asks.
Status decode_image(std::span<const std::byte> bytes, const ImageHeader& header, Color color, const Box& part,
                    uint8_t* out, size_t row_stride, Scratch& scratch, std::string_view* decoder = nullptr);

// The same with samples of `dtype`, whose numbers, other than those of u8, are the stored ones, not scaled.
// `row_stride` is in bytes. REQUIRES: gives_samples().
Status decode_samples(std::span<const std::byte> bytes, const ImageHeader& header, Color color, DType dtype,
                      const Box& part, std::byte* out, size_t row_stride, Scratch& scratch,
                      std::string_view* decoder = nullptr);

}  // namespace headrace
