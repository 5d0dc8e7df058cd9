#include <bit>
#include <string>

#include "headrace/codecs/exif.h"
#include "headrace/codecs/png/chunks.h"
#include "headrace/codecs/png/png.h"

namespace headrace {
namespace {

using namespace png;

constexpr uint64_t kDeflateRatio = 1032;  // deflate never packs more than this many bytes into one

bool is_known(const Ihdr& ihdr) {
  switch (ihdr.kind) {
    case Ihdr::kGray:
    case Ihdr::kPalette: {
      const int most = ihdr.kind == Ihdr::kGray ? 16 : 8;
      return std::has_single_bit(static_cast<unsigned>(ihdr.depth)) && ihdr.depth <= most;
    }
    case Ihdr::kRgb:
    case Ihdr::kGrayAlpha:
    case Ihdr::kRgba: return ihdr.depth == 8 || ihdr.depth == 16;
    default: return false;
  }
}

// Channels without tRNS, which comes later.
Result<ImageHeader> read_ihdr(const Ihdr& ihdr, size_t file_size) {
  if (!is_known(ihdr))
    return corrupt("damaged PNG: colour type " + std::to_string(ihdr.kind) + " with " +
                   std::to_string(ihdr.depth) + " bits");
  const bool has_palette = ihdr.kind == Ihdr::kPalette;
  const ImageHeader header{.height = static_cast<int64_t>(ihdr.height),
                           .width = static_cast<int64_t>(ihdr.width),
                           .channels = has_palette ? 3 : static_cast<int>(ihdr.samples()),
                           .bit_depth = ihdr.depth,
                           .has_indexes = has_palette || ihdr.kind == Ihdr::kGray,
                           .dtype = ihdr.depth == 16 ? DType::u16 : DType::u8,
                           .most = static_cast<uint16_t>(ihdr.depth == 16 ? 65535 : 255)};
  const bool fits_in_64_bits = header.height <= kMaxImageSide;
  if (fits_in_64_bits && ihdr.height * ihdr.row_bytes(ihdr.width) / kDeflateRatio > file_size)
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
  HEADRACE_ASSIGN(ImageHeader header, read_ihdr(ihdr_of(bytes), bytes.size()));
  bool pixels_began = false, transparent = false;
  while (const auto chunk =
             chunk_at(bytes, at)) {  // a truncated chunk is reported by the decoder, if it matters
    const std::string_view type = chunk->type();
    if (type == "IDAT") pixels_began = true;
    if (type == "tRNS" && !pixels_began) transparent = true;
    if (type == "eXIf") header.orientation = exif_orientation(chunk->data());
    if (type == "IEND") break;
    at += chunk->whole.size();
  }
  if (transparent && header.channels % 2 == 1) ++header.channels;
  return header;
}

}  // namespace headrace
