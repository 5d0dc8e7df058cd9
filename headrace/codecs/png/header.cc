#include <cstring>
#include <string>

#include "headrace/codecs/exif.h"
#include "headrace/codecs/png/png.h"

namespace headrace {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kSignature{"\x89PNG\r\n\x1a\n", 8};
constexpr size_t kIhdrLength = 13, kChunkOverhead = 12;  // length, type and checksum: four bytes each
constexpr int kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6;
constexpr uint64_t kDeflateRatio = 1032;  // deflate never packs more than this many bytes into one

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

uint32_t word_at(Bytes bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>(bytes[at + i]);
  return value;
}

bool is_depth_of(int depth, int color_type) {
  if (color_type == kGray) return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
  if (color_type == kPalette) return depth == 1 || depth == 2 || depth == 4 || depth == 8;
  return depth == 8 || depth == 16;
}

int samples_of(int color_type) {  // per pixel in the file
  return color_type == kRgb ? 3 : color_type == kRgba ? 4 : color_type == kGrayAlpha ? 2 : 1;
}

// The fields of IHDR. Channels are those without tRNS, which comes later.
Result<ImageHeader> read_ihdr(Bytes ihdr, size_t file_size) {
  const int depth = std::to_integer<int>(ihdr[8]), color_type = std::to_integer<int>(ihdr[9]);
  const bool known = color_type == kGray || color_type == kRgb || color_type == kPalette ||
                     color_type == kGrayAlpha || color_type == kRgba;
  if (!known || !is_depth_of(depth, color_type))
    return corrupt("damaged PNG: colour type " + std::to_string(color_type) + " with " +
                   std::to_string(depth) + " bits");
  ImageHeader header{.height = word_at(ihdr, 4),
                     .width = word_at(ihdr, 0),
                     .channels = color_type == kPalette ? 3 : samples_of(color_type),
                     .bit_depth = depth,
                     .has_indexes = color_type == kPalette || (color_type == kGray && depth <= 8)};
  const uint64_t row_bits =
      static_cast<uint64_t>(header.width) * static_cast<uint64_t>(samples_of(color_type) * depth);
  const bool fits_in_64_bits = header.height <= kMaxImageSide;
  if (fits_in_64_bits && static_cast<uint64_t>(header.height) * (row_bits / 8) / kDeflateRatio > file_size)
    return corrupt("truncated PNG: " + std::to_string(file_size) + " bytes cannot hold " +
                   std::to_string(header.height) + " x " + std::to_string(header.width) + " pixels");
  return header;
}

}  // namespace

bool is_png(Bytes bytes) { return text_of(bytes).starts_with(kSignature); }

Result<ImageHeader> read_png_header(Bytes bytes) {
  size_t at = kSignature.size();
  if (bytes.size() < at + kChunkOverhead + kIhdrLength)
    return corrupt("truncated PNG: ends before its header");
  if (word_at(bytes, at) != kIhdrLength || text_of(bytes.subspan(at + 4, 4)) != "IHDR")
    return corrupt("damaged PNG: does not start with IHDR");
  HEADRACE_ASSIGN(ImageHeader header, read_ihdr(bytes.subspan(at + 8, kIhdrLength), bytes.size()));
  bool pixels_began = false, transparent = false;
  while (bytes.size() - at >= kChunkOverhead) {
    const uint32_t length = word_at(bytes, at);
    if (length > bytes.size() - at - kChunkOverhead) break;  // the decoder will say so, if it matters
    const std::string_view type = text_of(bytes.subspan(at + 4, 4));
    if (type == "IDAT") pixels_began = true;
    if (type == "tRNS" && !pixels_began) transparent = true;
    if (type == "eXIf") header.orientation = exif_orientation(bytes.subspan(at + 8, length));
    if (type == "IEND") break;
    at += kChunkOverhead + length;
  }
  if (transparent && header.channels % 2 == 1) ++header.channels;
  return header;
}

}  // namespace headrace
