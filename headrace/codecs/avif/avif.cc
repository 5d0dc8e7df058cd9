// AVIF through libavif: the first image, of any depth. The rotation and mirroring that a file
// requests are reported as an orientation and not applied, as with EXIF.
#include <avif/avif.h>

#include <algorithm>
#include <memory>
#include <string>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/color.h"
#include "headrace/codecs/fields.h"
#include "headrace/codecs/library_memory.h"
#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

using Bytes = std::span<const std::byte>;

bool is_avif(Bytes bytes) {
  const std::string_view text = characters_of(bytes);
  return text.size() >= 12 && text.substr(4, 4) == "ftyp" &&
         (text.substr(8, 4) == "avif" || text.substr(8, 4) == "avis");
}

Status from_avif(avifResult result) {
  switch (result) {
    case AVIF_RESULT_OK: return {};
    case AVIF_RESULT_OUT_OF_MEMORY: return {Code::exhausted, "AVIF needs too much memory"};
    case AVIF_RESULT_NO_CODEC_AVAILABLE:
    case AVIF_RESULT_UNSUPPORTED_DEPTH:
    case AVIF_RESULT_NOT_IMPLEMENTED: return {Code::unavailable, "unsupported kind of AVIF"};
    case AVIF_RESULT_TRUNCATED_DATA: return corrupt("truncated AVIF");
    default: return corrupt("damaged AVIF: " + std::string(avifResultToString(result)));
  }
}

// libavif before 1.1 takes the tiles of a grid as its items come in the file, not as the grid lists them.
constexpr bool kListsTiles = AVIF_VERSION >= 1010000;

// Whether the box "iref" lists the items of some image in another order than that of their numbers, in which
// writers store them.
bool has_tiles_in_another_order(Bytes references) {
  const size_t width = big_endian_at(references, 0, 1) == 0 ? 2 : 4;  // of an item's number
  if (references.size() < 4) return false;
  for (references = references.subspan(4); const auto box = next_iso_box(references);) {
    if (box->kind != "dimg") continue;
    const uint64_t count = big_endian_at(box->content, width, 2);
    uint64_t last = 0;
    for (size_t i = 0, at = width + 2; i < count && at + width <= box->content.size(); ++i, at += width) {
      const uint64_t item = big_endian_at(box->content, at, width);
      if (item < last) return true;
      last = item;
    }
  }
  return false;
}

Status check_order_of_tiles(Bytes bytes) {
  if (kListsTiles) return {};
  while (const auto box = next_iso_box(bytes)) {
    if (box->kind != "meta" || box->content.size() < 4) continue;
    for (Bytes meta = box->content.subspan(4); const auto inner = next_iso_box(meta);)
      if (inner->kind == "iref" && has_tiles_in_another_order(inner->content))
        return {Code::unavailable, Mismatch{.expected = "an AVIF whose tiles are stored in their order",
                                            .got = "another order",
                                            .fix = "libavif 1.1 or newer reads it"}};
  }
  return {};
}

struct FreeDecoder {
  void operator()(avifDecoder* decoder) const { avifDecoderDestroy(decoder); }
};
using Decoder = std::unique_ptr<avifDecoder, FreeDecoder>;

// Reads what precedes the pixels; no pixel is decoded.
Result<Decoder> open(Bytes bytes) {
  HEADRACE_TRY(check_order_of_tiles(bytes));
  Decoder decoder(avifDecoderCreate());
  if (!decoder) return Status(Code::exhausted, "out of memory for an AVIF decoder");
  decoder->maxThreads = 1;
  decoder->ignoreExif = decoder->ignoreXMP = AVIF_TRUE;
  decoder->strictFlags = AVIF_STRICT_DISABLED;  // correct writers of the first years broke these rules
  decoder->imageSizeLimit = static_cast<uint32_t>(kMaxImagePixels);
  decoder->imageDimensionLimit = static_cast<uint32_t>(kMaxImageSide);
  HEADRACE_TRY(from_avif(
      avifDecoderSetIOMemory(decoder.get(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size())));
  HEADRACE_TRY(from_avif(avifDecoderParse(decoder.get())));
  return decoder;
}

// The file's counter-clockwise rotation, then its mirroring, as one of EXIF's eight orientations.
int orientation_of(const avifImage& image) {
  const int turn = image.transformFlags & AVIF_TRANSFORM_IROT ? image.irot.angle % 4 : 0;
  if (!(image.transformFlags & AVIF_TRANSFORM_IMIR)) {
    constexpr int turned[] = {1, 8, 3, 6};
    return turned[turn];
  }
  constexpr int top_to_bottom[] = {4, 5, 2, 7}, left_to_right[] = {2, 7, 4, 5};
  return image.imir.mode == 0 ? top_to_bottom[turn] : left_to_right[turn];
}

// 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA.
int channels_of(const avifDecoder& decoder) {
  const bool is_gray = decoder.image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
  return (is_gray ? 1 : 3) + (decoder.alphaPresent ? 1 : 0);
}

Result<ImageHeader> read_avif_header(Bytes bytes) {
  HEADRACE_ASSIGN(const Decoder decoder, open(bytes));
  const avifImage& image = *decoder->image;
  return ImageHeader{.height = image.height,
                     .width = image.width,
                     .channels = channels_of(*decoder),
                     .bit_depth = static_cast<int>(image.depth),
                     .orientation = orientation_of(image),
                     .dtype = image.depth > 8 ? DType::u16 : DType::u8,
                     .most = static_cast<uint16_t>((1u << std::min(image.depth, 16u)) - 1)};
}

// Planes of the image, twice where a grid is assembled from its tiles, and what the decoder records for each
// pixel.
size_t bytes_within_libavif(const avifDecoder& decoder) {
  const avifImage& image = *decoder.image;
  const size_t samples = image.yuvFormat == AVIF_PIXEL_FORMAT_YUV444 ? 6 : 4;  // halves of a plane
  const size_t sample = image.depth > 8 ? 2 : 1, planes = (samples + (decoder.alphaPresent ? 2 : 0)) * sample;
  return size_t{image.height} * image.width * (planes + 1);
}

// RGBA when there is alpha, which the colours may have to be divided by, else RGB. Of more than 8 bits:
// numbers of as many, in two bytes each.
Status decode_to(avifDecoder* decoder, int channels, uint8_t* out, size_t row_stride) {
  avifRGBImage rgb;
  avifRGBImageSetDefaults(&rgb, decoder->image);
  rgb.depth = decoder->image->depth > 8 ? decoder->image->depth : 8;
  rgb.format = channels == 4 ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
  rgb.pixels = out;
  rgb.rowBytes = static_cast<uint32_t>(row_stride);
  return from_avif(avifImageYUVToRGB(decoder->image, &rgb));
}

// `T` is uint16_t for images of more than 8 bits.
template <class T> Status decode_as(Bytes bytes, const ImageHeader& header, int channels, const Box& part,
                                    T* out, size_t row_stride, Scratch& scratch) {
  HEADRACE_ASSIGN(const Decoder decoder, open(bytes));
  if (scratch.is_stopped()) return stopped();
  LibraryMemory memory(scratch);
  if (!memory.expect(bytes_within_libavif(*decoder))) return memory.over_budget("an AVIF decoder");
  HEADRACE_TRY(from_avif(avifDecoderNextImage(decoder.get())));
  if (scratch.is_stopped()) return stopped();
  if (decoder->image->height != header.height || decoder->image->width != header.width ||
      (decoder->image->depth > 8) != (sizeof(T) > 1))
    return corrupt("damaged AVIF: two different headers");
  const int made = decoder->alphaPresent ? 4 : 3;
  auto* const to = reinterpret_cast<uint8_t*>(out);
  if (channels == made) return decode_to(decoder.get(), channels, to, row_stride);
  const Scratch::Mark mark = scratch.mark();
  const auto row = static_cast<size_t>(header.width * made), size = row * static_cast<size_t>(header.height);
  const auto pixels = scratch.take<T>(size);
  if (pixels.empty()) return scratch.over_budget(size * sizeof(T), "pixels of an AVIF");
  const Status status =
      decode_to(decoder.get(), made, reinterpret_cast<uint8_t*>(pixels.data()), row * sizeof(T));
  for (int64_t y = part.y; status.ok() && y < part.bottom(); ++y)
    convert_channels(pixels.data() + static_cast<size_t>(y) * row, made, static_cast<size_t>(header.width),
                     reinterpret_cast<T*>(to + static_cast<size_t>(y) * row_stride), channels);
  scratch.reset(mark);
  return status;
}

Status decode_avif(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                   size_t row_stride, Scratch& scratch, std::string_view&) {
  return decode_as(bytes, header, decoded_channels(header, color), part, out, row_stride, scratch);
}

Status decode_stored_avif(Bytes bytes, const ImageHeader& header, const Box& part, std::byte* out,
                          size_t row_stride, Scratch& scratch) {
  return decode_as(bytes, header, header.channels, part, reinterpret_cast<uint16_t*>(out), row_stride,
                   scratch);
}

const CodecRegistration registered({.name = "AVIF",
                                    .library = "libavif",
                                    .endings = {".avif"},
                                    .recognise = is_avif,
                                    .read_header = read_avif_header,
                                    .decode = decode_avif,
                                    .decode_stored = decode_stored_avif});

}  // namespace
}  // namespace headrace
