// GIF: the first frame on its canvas, the header by our own walk over the blocks, the pixels by giflib, line
// by line. As in Pillow, the canvas grows to hold the frame, and is transparent or of colour 0 around it.
#include <gif_lib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/color.h"
#include "headrace/codecs/fields.h"
#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

using Bytes = std::span<const std::byte>;

constexpr size_t kScreen = 13;             // signature, version, screen descriptor
constexpr size_t kImageDescriptor = 9;     // after its comma
constexpr uint64_t kPixelsPerByte = 4096;  // more than any LZW code expands to
constexpr int kGraphicControl = 0xF9;

uint32_t number_at(Bytes bytes, size_t at, size_t width) { return little_endian_at(bytes, at, width); }

bool is_gif(Bytes bytes) {
  const std::string_view text = characters_of(bytes);
  return text.starts_with("GIF87a") || text.starts_with("GIF89a");
}

// The bytes of a colour table, by the flags that announce it; empty when they announce none.
Bytes color_table(Bytes bytes, size_t at, uint32_t flags) {
  if ((flags & 0x80) == 0 || at > bytes.size()) return {};
  return bytes.subspan(at, std::min<size_t>(bytes.size() - at, size_t{6} << (flags & 7)));
}

// What precedes the pixels of the first frame.
struct FrameInfo {
  int64_t canvas_height = 0, canvas_width = 0;
  Box place;
  bool interlaced = false;
  int transparent = -1;  // an index, or none
  // Indexes without a colour in the file are black, or grey when all others are, as in Pillow.
  std::array<uint8_t, 256 * 3> palette;
  bool is_gray = true;
};

void fill_palette(Bytes table, FrameInfo& frame) {
  for (size_t i = 0; i < table.size(); ++i) {
    frame.palette[i] = std::to_integer<uint8_t>(table[i]);
    frame.is_gray = frame.is_gray && frame.palette[i] == i / 3;
  }
  for (size_t i = table.size(); i < frame.palette.size(); ++i)
    frame.palette[i] = static_cast<uint8_t>(frame.is_gray ? i / 3 : 0);
}

Status ends_early() { return corrupt("truncated GIF: ends before its first frame"); }

Status read_descriptor(Bytes bytes, size_t at, Bytes table, FrameInfo& frame) {
  if (bytes.size() - at < kImageDescriptor) return ends_early();
  frame.place = {number_at(bytes, at + 2, 2), number_at(bytes, at, 2), number_at(bytes, at + 6, 2),
                 number_at(bytes, at + 4, 2)};
  const uint32_t flags = number_at(bytes, at + 8, 1);
  frame.interlaced = (flags & 0x40) != 0;
  if (flags & 0x80) table = color_table(bytes, at + kImageDescriptor, flags);
  fill_palette(table, frame);
  frame.canvas_height = std::max(frame.canvas_height, frame.place.bottom());
  frame.canvas_width = std::max(frame.canvas_width, frame.place.right());
  return {};
}

Result<FrameInfo> read_frame_info(Bytes bytes) {
  if (bytes.size() < kScreen) return ends_early();
  FrameInfo frame;
  frame.canvas_width = number_at(bytes, 6, 2), frame.canvas_height = number_at(bytes, 8, 2);
  const Bytes table = color_table(bytes, kScreen, number_at(bytes, 10, 1));
  for (size_t at = kScreen + table.size(); at < bytes.size();) {
    const uint32_t kind = number_at(bytes, at++, 1);
    if (kind == ',') {
      HEADRACE_TRY(read_descriptor(bytes, at, table, frame));
      return frame;
    }
    if (kind == ';') return corrupt("damaged GIF: no frame");
    if (kind != '!') continue;  // padding
    const uint32_t label = number_at(bytes, at++, 1);
    if (label == kGraphicControl && number_at(bytes, at, 1) >= 4 && (number_at(bytes, at + 1, 1) & 1))
      frame.transparent = static_cast<int>(number_at(bytes, at + 4, 1));
    while (at < bytes.size()) {  // sub-blocks, the last of length 0
      const uint32_t length = number_at(bytes, at, 1);
      at += 1 + length;
      if (length == 0) break;
    }
  }
  return ends_early();
}

Result<ImageHeader> read_gif_header(Bytes bytes) {
  HEADRACE_ASSIGN(const FrameInfo frame, read_frame_info(bytes));
  // Not the canvas, which a small frame may leave empty.
  if (static_cast<uint64_t>(frame.place.h * frame.place.w) / kPixelsPerByte > bytes.size())
    return corrupt("truncated GIF: " + std::to_string(bytes.size()) + " bytes cannot hold " +
                   std::to_string(frame.place.h) + " x " + std::to_string(frame.place.w) + " pixels");
  return ImageHeader{.height = frame.canvas_height,
                     .width = frame.canvas_width,
                     .channels = (frame.is_gray ? 1 : 3) + (frame.transparent >= 0 ? 1 : 0),
                     .has_indexes = true};
}

struct CloseGif {
  void operator()(GifFileType* gif) const { DGifCloseFile(gif, nullptr); }
};
using Gif = std::unique_ptr<GifFileType, CloseGif>;

// Reads past the end give a zero: as the length of a block it means that no block follows, so a file that
// lacks only its end is whole, and one that lacks pixels still lacks them.
int read_bytes(GifFileType* gif, GifByteType* to, int wanted) {
  auto& rest = *static_cast<Bytes*>(gif->UserData);
  if (rest.empty() && wanted == 1) {
    *to = 0;
    return 1;
  }
  const size_t size = std::min(rest.size(), static_cast<size_t>(std::max(wanted, 0)));
  if (size > 0) std::memcpy(to, rest.data(), size);
  rest = rest.subspan(size);
  return static_cast<int>(size);
}

Status from_giflib(const GifFileType* gif) {
  const char* text = GifErrorString(gif->Error);
  const bool ended = gif->Error == D_GIF_ERR_READ_FAILED || gif->Error == D_GIF_ERR_EOF_TOO_SOON;
  return corrupt((ended ? "truncated GIF: " : "damaged GIF: ") + std::string(text ? text : "unknown"));
}

// Skips to the first frame, so that its lines come next.
Status seek_frame(GifFileType* gif) {
  for (;;) {
    GifRecordType kind;
    if (DGifGetRecordType(gif, &kind) == GIF_ERROR) return from_giflib(gif);
    if (kind == IMAGE_DESC_RECORD_TYPE)
      return DGifGetImageDesc(gif) == GIF_ERROR ? from_giflib(gif) : Status();
    if (kind != EXTENSION_RECORD_TYPE) return corrupt("damaged GIF: no frame");
    int label;
    GifByteType* block;
    if (DGifGetExtension(gif, &label, &block) == GIF_ERROR) return from_giflib(gif);
    while (block)
      if (DGifGetExtensionNext(gif, &block) == GIF_ERROR) return from_giflib(gif);
  }
}

// Converts an index to its pixel.
using Colors = std::array<uint8_t, 256 * 4>;

Colors colors_of(const FrameInfo& frame, Color color, int channels) {
  Colors colors;
  if (color == Color::index) {
    std::iota(colors.begin(), colors.begin() + 256, uint8_t{0});
    return colors;
  }
  for (int i = 0; i < 256; ++i) {
    const uint8_t* rgb = frame.palette.data() + 3 * i;
    const uint8_t rgba[4] = {rgb[0], rgb[1], rgb[2], static_cast<uint8_t>(i == frame.transparent ? 0 : 255)};
    convert_channels(rgba, 4, 1, colors.data() + i * channels, channels);
  }
  return colors;
}

void look_up(const uint8_t* indexes, int64_t count, const Colors& colors, int channels, uint8_t* out) {
  for (int64_t x = 0; x < count; ++x, out += channels)
    std::memcpy(out, colors.data() + indexes[x] * channels, static_cast<size_t>(channels));
}

// Calls `take(row, indexes)` for the rows of the frame in the order in which they are stored, until it
// returns false.
template <class Take> Status read_lines(GifFileType* gif, const FrameInfo& frame, std::span<uint8_t> line,
                                        const Scratch& scratch, Take take) {
  struct Pass {
    int64_t first, step;
  };
  constexpr std::array<Pass, 4> interlaced{Pass{0, 8}, Pass{4, 8}, Pass{2, 4}, Pass{1, 2}};
  constexpr std::array<Pass, 1> straight{Pass{0, 1}};
  for (const Pass& pass : frame.interlaced ? std::span<const Pass>(interlaced) : straight)
    for (int64_t y = pass.first; y < frame.place.h; y += pass.step) {
      if (scratch.is_stopped()) return stopped();
      if (DGifGetLine(gif, line.data(), static_cast<int>(line.size())) == GIF_ERROR) return from_giflib(gif);
      if (!take(y, line.data())) return {};
    }
  return {};
}

Status decode_gif(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                  size_t row_stride, Scratch& scratch, std::string_view&) {
  HEADRACE_ASSIGN(const FrameInfo frame, read_frame_info(bytes));
  const int channels = decoded_channels(header, color);
  const Colors colors = colors_of(frame, color, channels);
  const auto row_at = [&](int64_t y, int64_t x) {
    return out + static_cast<size_t>(y) * row_stride + static_cast<size_t>(x * channels);
  };
  const Scratch::Mark mark = scratch.mark();
  const auto line = scratch.take<uint8_t>(static_cast<size_t>(header.width));
  if (line.empty()) return scratch.over_budget(static_cast<size_t>(header.width), "a line of a GIF");
  if (frame.place != header.whole()) {
    std::fill(line.begin(), line.end(), static_cast<uint8_t>(std::max(frame.transparent, 0)));
    for (int64_t y = part.y; y < part.bottom(); ++y) {
      if (scratch.is_stopped()) return stopped();
      look_up(line.data(), header.width, colors, channels, row_at(y, 0));
    }
  }
  if (frame.place.empty()) {
    scratch.reset(mark);
    return {};
  }
  Bytes rest = bytes;
  int error = 0;
  const Gif gif(DGifOpen(&rest, read_bytes, &error));
  Status status = gif ? seek_frame(gif.get()) : corrupt("damaged GIF: its screen cannot be read");
  if (status.ok() && (gif->Image.Height != frame.place.h || gif->Image.Width != frame.place.w))
    status = corrupt("damaged GIF: two different headers");
  if (status.ok())
    status = read_lines(gif.get(), frame, line.first(static_cast<size_t>(frame.place.w)), scratch,
                        [&](int64_t y, const uint8_t* indexes) {
                          look_up(indexes, frame.place.w, colors, channels,
                                  row_at(frame.place.y + y, frame.place.x));
                          return frame.interlaced || frame.place.y + y + 1 < part.bottom();
                        });
  scratch.reset(mark);
  return status;
}

const CodecRegistration registered({.name = "GIF",
                                    .library = "giflib",
                                    .endings = {".gif"},
                                    .recognise = is_gif,
                                    .read_header = read_gif_header,
                                    .decode = decode_gif});

}  // namespace
}  // namespace headrace
