// JPEG XL through libjxl: the first frame, as 8 bits. The orientation is told and not applied, as with EXIF.
// libjxl computes in floats, by the vectors of the machine: its last bit may differ from one CPU to another.
#include <jxl/decode.h>

#include <memory>
#include <string>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/color.h"
#include "headrace/codecs/fields.h"
#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

using Bytes = std::span<const std::byte>;

bool is_jxl(Bytes bytes) {
  const std::string_view text = characters_of(bytes);
  return text.starts_with("\xff\x0a") || text.starts_with({"\0\0\0\x0cJXL \r\n\x87\n", 12});
}

struct FreeDecoder {
  void operator()(JxlDecoder* decoder) const { JxlDecoderDestroy(decoder); }
};
using Decoder = std::unique_ptr<JxlDecoder, FreeDecoder>;

// The decoder goes on until it has what it was asked for, `wanted`.
Status advance(JxlDecoder* decoder, JxlDecoderStatus wanted) {
  const JxlDecoderStatus status = JxlDecoderProcessInput(decoder);
  if (status == wanted) return {};
  return corrupt(status == JXL_DEC_NEED_MORE_INPUT ? "truncated JPEG XL" : "damaged JPEG XL");
}

// Read up to the size and the kind of the image.
Result<Decoder> open(Bytes bytes, int events, JxlBasicInfo& info) {
  Decoder decoder(JxlDecoderCreate(nullptr));
  if (!decoder) return Status(Code::exhausted, "no memory left for a JPEG XL decoder");
  JxlDecoder* const d = decoder.get();
  if (JxlDecoderSubscribeEvents(d, JXL_DEC_BASIC_INFO | events) != JXL_DEC_SUCCESS ||
      JxlDecoderSetKeepOrientation(d, JXL_TRUE) != JXL_DEC_SUCCESS ||
      JxlDecoderSetInput(d, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) != JXL_DEC_SUCCESS)
    return internal_error("libjxl does not take its settings");
  JxlDecoderCloseInput(d);
  HEADRACE_TRY(advance(d, JXL_DEC_BASIC_INFO));
  if (JxlDecoderGetBasicInfo(d, &info) != JXL_DEC_SUCCESS) return corrupt("damaged JPEG XL");
  if (info.num_color_channels != 1 && info.num_color_channels != 3)
    return Status(Code::unavailable,
                  "wants a JPEG XL of 1 or 3 colours, got " + std::to_string(info.num_color_channels));
  return decoder;
}

int channels_of(const JxlBasicInfo& info) {
  return static_cast<int>(info.num_color_channels) + (info.alpha_bits > 0 ? 1 : 0);
}

Result<ImageHeader> read_jxl_header(Bytes bytes) {
  JxlBasicInfo info;
  HEADRACE_TRY(open(bytes, 0, info).status());
  return ImageHeader{.height = info.ysize,
                     .width = info.xsize,
                     .channels = channels_of(info),
                     .bit_depth = static_cast<int>(info.bits_per_sample),
                     .orientation = static_cast<int>(info.orientation)};
}

// All pixels, densely.
Status decode_pixels(JxlDecoder* decoder, int channels, std::span<uint8_t> out) {
  HEADRACE_TRY(advance(decoder, JXL_DEC_NEED_IMAGE_OUT_BUFFER));
  const JxlPixelFormat format{static_cast<uint32_t>(channels), JXL_TYPE_UINT8, JXL_NATIVE_ENDIAN, 0};
  size_t size = 0;
  if (JxlDecoderImageOutBufferSize(decoder, &format, &size) != JXL_DEC_SUCCESS || size != out.size() ||
      JxlDecoderSetImageOutBuffer(decoder, &format, out.data(), out.size()) != JXL_DEC_SUCCESS)
    return corrupt("damaged JPEG XL: two headers");
  return advance(decoder, JXL_DEC_FULL_IMAGE);
}

Status decode_jxl(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                  size_t row_stride, Scratch& scratch) {
  JxlBasicInfo info;
  HEADRACE_ASSIGN(const Decoder decoder, open(bytes, JXL_DEC_FULL_IMAGE, info));
  if (scratch.is_stopped()) return stopped();
  if (info.ysize != header.height || info.xsize != header.width || channels_of(info) != header.channels)
    return corrupt("damaged JPEG XL: two headers");
  const int channels = decoded_channels(header, color);
  const size_t row = static_cast<size_t>(header.width * header.channels),
               size = row * static_cast<size_t>(header.height);
  if (channels == header.channels && row_stride == row)
    return decode_pixels(decoder.get(), channels, {out, size});
  const Scratch::Mark mark = scratch.mark();
  const auto pixels = scratch.take<uint8_t>(size);
  if (pixels.empty()) return scratch.over_budget(size, "pixels of a JPEG XL");
  const Status status = decode_pixels(decoder.get(), header.channels, pixels.first(size));
  for (int64_t y = part.y; status.ok() && y < part.bottom(); ++y)
    convert_channels(pixels.data() + static_cast<size_t>(y) * row, header.channels,
                     static_cast<size_t>(header.width), out + static_cast<size_t>(y) * row_stride, channels);
  scratch.reset(mark);
  return status;
}

const CodecRegistration registered({.name = "JPEG XL",
                                    .endings = {".jxl"},
                                    .recognise = is_jxl,
                                    .read_header = read_jxl_header,
                                    .decode = decode_jxl});

}  // namespace
}  // namespace headrace
