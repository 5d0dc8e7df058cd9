#include <string>

#include "headrace/codecs/exif.h"
#include "headrace/codecs/jpeg/jpeg.h"
#include "headrace/codecs/jpeg/markers.h"

namespace headrace {
namespace {

using namespace jpeg;

// At least one component has full resolution, and Huffman coding spends a bit or more on each of its 8 x 8
// blocks. Arithmetic coding has no such bound; flat pictures of one colour stay below this one.
constexpr int64_t kHuffmanPixelsPerByte = 512, kArithmeticPixelsPerByte = 65536;

bool is_frame(int marker) {
  return marker >= kSof0 && marker <= 0xCF && marker != kDht && marker != kJpg && marker != kDac;
}
bool is_alone(int marker) { return marker == kTem || (marker >= kRst0 && marker < kSoi); }
bool is_huffman(int marker) { return marker <= kSof2; }

Status cut_off() { return corrupt("truncated JPEG: ends before its frame header"); }

// A frame header: marker, then the segment without its length: precision, height, width, number of
// components.
Result<ImageHeader> read_frame(int marker, Bytes segment, size_t file_size) {
  if (segment.size() < 6)
    return corrupt("damaged JPEG: frame header of " + std::to_string(segment.size()) + " bytes");
  if (!is_huffman(marker) && marker != kSof9 && marker != kSof10)
    return Status(Code::unavailable,
                  {.expected = "a baseline or progressive JPEG",
                   .got = "a lossless or hierarchical one (SOF" + std::to_string(marker - kSof0) + ")"});
  ImageHeader header{.height = word_at(segment, 1),
                     .width = word_at(segment, 3),
                     .channels = byte_at(segment, 5),
                     .is_cmyk = byte_at(segment, 5) == 4,
                     .bit_depth = byte_at(segment, 0)};
  if (header.bit_depth != 8)
    return Status(Code::unavailable,
                  {.expected = "a JPEG of 8 bits", .got = std::to_string(header.bit_depth)});
  if (header.channels != 1 && header.channels != 3 && header.channels != 4)
    return Status(Code::unavailable,
                  {.expected = "a JPEG of 1, 3 or 4 components", .got = std::to_string(header.channels)});
  const int64_t pixels_per_byte = is_huffman(marker) ? kHuffmanPixelsPerByte : kArithmeticPixelsPerByte;
  if (file_size < static_cast<uint64_t>(header.height * header.width / pixels_per_byte))
    return corrupt("truncated JPEG: " + std::to_string(file_size) + " bytes cannot hold " +
                   std::to_string(header.height) + " x " + std::to_string(header.width) + " pixels");
  return header;
}

int orientation_in(Bytes segment) {
  constexpr std::string_view magic{"Exif\0\0", 6};
  const std::string_view text(reinterpret_cast<const char*>(segment.data()), segment.size());
  return text.starts_with(magic) ? exif_orientation(segment.subspan(magic.size())) : 0;
}

}  // namespace

bool is_jpeg(Bytes bytes) {
  return bytes.size() >= 3 && byte_at(bytes, 0) == 0xFF && byte_at(bytes, 1) == kSoi &&
         byte_at(bytes, 2) == 0xFF;
}

Result<ImageHeader> read_jpeg_header(Bytes bytes) {
  int orientation = 0;
  for (size_t at = 2;;) {
    // To the next marker: stray bytes before it and padding with 0xFF are skipped, as in libjpeg.
    while (at < bytes.size() && byte_at(bytes, at) != 0xFF) ++at;
    while (at < bytes.size() && byte_at(bytes, at) == 0xFF) ++at;
    if (at == bytes.size()) return cut_off();
    const int marker = byte_at(bytes, at++);
    if (marker == 0 || is_alone(marker)) continue;
    if (marker == kSoi || marker == kEoi || marker == kSos) return corrupt("damaged JPEG: no frame header");
    if (bytes.size() - at < 2) return cut_off();
    const auto length = static_cast<size_t>(word_at(bytes, at));
    if (length < 2) return corrupt("damaged JPEG: segment of " + std::to_string(length) + " bytes");
    if (length > bytes.size() - at) return cut_off();
    const Bytes segment = bytes.subspan(at + 2, length - 2);
    at += length;
    if (marker == kApp1 && orientation == 0) orientation = orientation_in(segment);
    if (marker == kSof55)
      return Status(Code::unavailable, {.expected = "a baseline or progressive JPEG", .got = "JPEG-LS"});
    if (!is_frame(marker)) continue;
    HEADRACE_ASSIGN(ImageHeader header, read_frame(marker, segment, bytes.size()));
    header.orientation = orientation == 0 ? 1 : orientation;
    return header;
  }
}

}  // namespace headrace
