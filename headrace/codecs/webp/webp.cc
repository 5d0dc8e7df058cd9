// WebP through libwebp, which decodes straight to where the pixels belong. Of an animation the first frame,
// on its canvas, whose other pixels are transparent black.
#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/color.h"
#include "headrace/codecs/exif.h"
#include "headrace/codecs/fields.h"
#include "headrace/codecs/library_memory.h"
#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

using Bytes = std::span<const std::byte>;

constexpr size_t kRiffHeader = 12, kChunkHeader = 8;
// Of a frame between two checks of the stop flag: lossy data may come in eight parts, of which the last
// brings all pixels; lossless data repeats up to eight rows at each call.
constexpr int64_t kLossyPixelsPerCall = int64_t{1} << 17, kLosslessPixelsPerCall = int64_t{1} << 20;
constexpr size_t kMinBytesPerCall = 16;
constexpr int kLossless = 2;  // of WebPBitstreamFeatures
// Smooth upsampling of chroma reads neighbours, and treats the edge of a crop as the edge of the image.
constexpr int64_t kMargin = 2;

const uint8_t* data_of(Bytes bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

bool is_webp(Bytes bytes) {
  const std::string_view text = characters_of(bytes);
  return text.starts_with("RIFF") && text.size() >= kRiffHeader && text.substr(8, 4) == "WEBP";
}

int orientation_of(Bytes bytes) {
  for (size_t at = kRiffHeader; bytes.size() - at >= kChunkHeader;) {
    const size_t length = little_endian_at(bytes, at + 4, 4);
    const Bytes rest = bytes.subspan(at + kChunkHeader);
    if (length > rest.size()) break;
    if (characters_of(bytes.subspan(at, 4)) == "EXIF") {
      constexpr std::string_view prefix{"Exif\0\0", 6};  // of a JPEG; some writers leave it in
      const bool prefixed = characters_of(rest.first(length)).starts_with(prefix);
      return exif_orientation(rest.first(length).subspan(prefixed ? prefix.size() : 0));
    }
    const size_t padded = length + length % 2;
    if (padded > rest.size()) break;
    at += kChunkHeader + padded;
  }
  return 1;
}

Status from_webp(VP8StatusCode code) {
  switch (code) {
    case VP8_STATUS_OK: return {};
    case VP8_STATUS_OUT_OF_MEMORY: return {Code::exhausted, "WebP needs too much memory"};
    case VP8_STATUS_UNSUPPORTED_FEATURE: return {Code::unavailable, "unsupported kind of WebP"};
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA: return corrupt("truncated WebP");
    default: return corrupt("damaged WebP");
  }
}

Result<ImageHeader> read_webp_header(Bytes bytes) {
  const size_t promised = little_endian_at(bytes, 4, 4);
  if (promised > bytes.size() - kChunkHeader)
    return corrupt("truncated WebP: " + std::to_string(bytes.size()) + " bytes of " +
                   std::to_string(promised + kChunkHeader));
  WebPBitstreamFeatures features;
  HEADRACE_TRY(from_webp(WebPGetFeatures(data_of(bytes), bytes.size(), &features)));
  return ImageHeader{.height = features.height,
                     .width = features.width,
                     .channels = features.has_alpha ? 4 : 3,
                     .orientation = orientation_of(bytes)};
}

struct FreeDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
struct FreeDecoder {
  void operator()(WebPIDecoder* decoder) const { WebPIDelete(decoder); }
};

// What is decoded: the whole file, or the first frame of an animation, and where it is on the canvas.
struct Frame {
  Bytes bytes;
  Box place;
};

Result<Frame> first_frame(Bytes bytes, const ImageHeader& header) {
  WebPBitstreamFeatures features;
  HEADRACE_TRY(from_webp(WebPGetFeatures(data_of(bytes), bytes.size(), &features)));
  if (features.height != header.height || features.width != header.width)
    return corrupt("damaged WebP: two different headers");
  if (!features.has_animation) return Frame{bytes, header.whole()};
  const WebPData data{data_of(bytes), bytes.size()};
  const std::unique_ptr<WebPDemuxer, FreeDemuxer> demuxer(WebPDemux(&data));
  WebPIterator frame;
  if (!demuxer || !WebPDemuxGetFrame(demuxer.get(), 1, &frame))
    return corrupt("damaged WebP: an animation without a valid frame");
  const Frame found{{reinterpret_cast<const std::byte*>(frame.fragment.bytes), frame.fragment.size},
                    {frame.y_offset, frame.x_offset, frame.height, frame.width}};
  WebPDemuxReleaseIterator(&frame);
  const Box& place = found.place;
  if (place.empty() || place.within(header.height, header.width) != place)
    return corrupt("damaged WebP: a frame outside its canvas");
  return found;
}

// Rows of RGB or RGBA for the whole canvas.
struct Canvas {
  uint8_t* pixels;
  size_t row_stride;
  int channels;
  uint8_t* at(int64_t y, int64_t x) const {
    return pixels + static_cast<size_t>(y) * row_stride + static_cast<size_t>(x * channels);
  }
};

// What libwebp takes for a frame. Lossless: four bytes for each pixel, and up to four small images that
// describe the colour transforms. Lossy: some rows, and the whole plane of alpha, from such pixels of one
// byte.
size_t bytes_within_libwebp(const WebPBitstreamFeatures& features) {
  const size_t width = static_cast<size_t>(features.width),
               pixels = width * static_cast<size_t>(features.height);
  if (features.format == kLossless) return 5 * pixels + width * 128;
  return (features.has_alpha ? 2 * pixels : 0) + width * 128;
}

// Passes the frame to the decoder piece by piece. A lossless frame that has produced no row yet is read from
// its beginning at each call, so its pieces grow.
Status feed(const Frame& frame, WebPDecoderConfig& config, Scratch& scratch) {
  HEADRACE_TRY(from_webp(WebPGetFeatures(data_of(frame.bytes), frame.bytes.size(), &config.input)));
  LibraryMemory memory(scratch);
  if (!memory.expect(bytes_within_libwebp(config.input))) return memory.over_budget("a WebP decoder");
  const std::unique_ptr<WebPIDecoder, FreeDecoder> decoder(WebPIDecode(nullptr, 0, &config));
  if (!decoder) return {Code::exhausted, "out of memory for a WebP decoder"};
  const bool lossless = config.input.format == kLossless;
  const int64_t calls =
      frame.place.h * frame.place.w / (lossless ? kLosslessPixelsPerCall : kLossyPixelsPerCall);
  const size_t whole = frame.bytes.size(),
               piece = std::max(whole / static_cast<size_t>(calls + 1), kMinBytesPerCall);
  size_t step = piece;
  VP8StatusCode code = VP8_STATUS_SUSPENDED;
  for (size_t size = 0; size < whole && code == VP8_STATUS_SUSPENDED;) {
    if (scratch.is_stopped()) return stopped();
    size += std::min(step, whole - size);
    code = WebPIUpdate(decoder.get(), data_of(frame.bytes), size);
    int rows = 0;
    const bool has_rows = WebPIDecGetRGB(decoder.get(), &rows, nullptr, nullptr, nullptr) && rows > 0;
    step = lossless && !has_rows ? std::min(2 * step, std::max(whole / 16, piece)) : piece;
  }
  return from_webp(code);
}

// Decodes the part of the frame (both in pixels of the canvas), and a little around it.
Status decode_frame(const Frame& frame, const Box& part, const Canvas& canvas, Scratch& scratch) {
  const Box& place = frame.place;
  const auto even = [](int64_t n) { return n & ~int64_t{1}; };  // libwebp crops at even pixels
  const int64_t top = even(std::max<int64_t>(part.y - place.y - kMargin, 0)),
                left = even(std::max<int64_t>(part.x - place.x - kMargin, 0)),
                bottom = std::min(part.bottom() - place.y + kMargin, place.h),
                right = std::min(part.right() - place.x + kMargin, place.w);
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config)) return {Code::internal, "the version of libwebp does not match"};
  config.options.use_cropping = 1;
  config.options.crop_top = static_cast<int>(top), config.options.crop_left = static_cast<int>(left);
  config.options.crop_height = static_cast<int>(bottom - top);
  config.options.crop_width = static_cast<int>(right - left);
  config.output.colorspace = canvas.channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  WebPRGBABuffer& rgba = config.output.u.RGBA;
  rgba.rgba = canvas.at(place.y + top, place.x + left);
  rgba.stride = static_cast<int>(canvas.row_stride);
  rgba.size = canvas.row_stride * static_cast<size_t>(bottom - top - 1) +
              static_cast<size_t>((right - left) * canvas.channels);
  return feed(frame, config, scratch);
}

Status decode_canvas(Bytes bytes, const ImageHeader& header, const Box& part, const Canvas& canvas,
                     Scratch& scratch) {
  HEADRACE_ASSIGN(const Frame frame, first_frame(bytes, header));
  if (frame.place != header.whole())
    for (int64_t y = part.y; y < part.bottom(); ++y) {
      if (scratch.is_stopped()) return stopped();
      std::memset(canvas.at(y, part.x), 0, static_cast<size_t>(part.w * canvas.channels));
    }
  const Box& place = frame.place;
  Box needed = part.within(place.bottom(), place.right());
  const int64_t y = std::max(needed.y, place.y), x = std::max(needed.x, place.x);
  needed = {y, x, needed.bottom() - y, needed.right() - x};
  return needed.empty() ? Status() : decode_frame(frame, needed, canvas, scratch);
}

Status decode_webp(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                   size_t row_stride, Scratch& scratch, std::string_view&) {
  const int channels = decoded_channels(header, color);
  if (channels >= 3) return decode_canvas(bytes, header, part, {out, row_stride, channels}, scratch);
  const Scratch::Mark mark = scratch.mark();
  const auto rgb_row = static_cast<size_t>(header.width * 3);
  const size_t size = rgb_row * static_cast<size_t>(header.height);
  const auto rgb = scratch.take<uint8_t>(size);
  if (rgb.empty()) return scratch.over_budget(size, "colours of a WebP");
  const Canvas canvas{rgb.data(), rgb_row, 3};
  const Status status = decode_canvas(bytes, header, part, canvas, scratch);
  for (int64_t y = part.y; status.ok() && y < part.bottom(); ++y)
    rgb_to_gray(canvas.at(y, part.x), static_cast<size_t>(part.w),
                out + static_cast<size_t>(y) * row_stride + part.x);
  scratch.reset(mark);
  return status;
}

const CodecRegistration registered({.name = "WebP",
                                    .library = "libwebp",
                                    .endings = {".webp"},
                                    .recognise = is_webp,
                                    .read_header = read_webp_header,
                                    .decode = decode_webp});

}  // namespace
}  // namespace headrace
