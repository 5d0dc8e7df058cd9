// BMP, by our own code: Debian has no library for it, and the format is small. What is accepted, and the
// pixels, are Pillow's. Rows are stored upside down unless the header says otherwise.
#include "headrace/codecs/bmp/bmp.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/color.h"
#include "headrace/codecs/fields.h"
#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

using bmp::Layout;
using Bytes = std::span<const std::byte>;

bool is_bmp(Bytes bytes) { return characters_of(bytes).starts_with("BM"); }

Result<ImageHeader> read_bmp_header(Bytes bytes) {
  HEADRACE_ASSIGN(const Layout layout, bmp::read_layout(bytes));
  return ImageHeader{.height = layout.height,
                     .width = layout.width,
                     .channels = layout.has_palette() && layout.is_gray ? 1
                                 : layout.has_alpha()                   ? 4
                                                                        : 3,
                     .bit_depth = layout.has_palette() ? layout.bits : 8,
                     .has_indexes = layout.has_palette()};
}

// Rows of pixels, top row first.
struct Rows {
  uint8_t* data;
  size_t stride;
  int channels;
  Color color;
  uint8_t* row(int64_t y) const { return data + static_cast<size_t>(y) * stride; }
};

// The colours of the palette, with the requested number of channels.
using Colors = std::array<uint8_t, 256 * 4>;

Colors colors_of(const Layout& layout, const Rows& rows) {
  Colors colors;
  if (rows.color == Color::index)
    std::iota(colors.begin(), colors.begin() + 256, uint8_t{0});
  else
    convert_channels(layout.palette.data(), 3, 256, colors.data(), rows.channels);
  return colors;
}

void indexes_of(const uint8_t* in, int bits, int64_t width, uint8_t* out) {
  const int mask = (1 << bits) - 1;
  for (int64_t x = 0; x < width; ++x)
    out[x] = static_cast<uint8_t>(in[x * bits / 8] >> (8 - bits - x * bits % 8) & mask);
}

void look_up(const uint8_t* indexes, int64_t width, const Colors& colors, int channels, uint8_t* out) {
  for (int64_t x = 0; x < width; ++x, out += channels)
    std::memcpy(out, colors.data() + indexes[x] * channels, static_cast<size_t>(channels));
}

// To RGBA, or RGB when the layout has no alpha.
void unpack(const uint8_t* in, const Layout& layout, uint8_t* out) {
  const size_t size = static_cast<size_t>(layout.bits) / 8;
  const size_t channels = layout.has_alpha() ? 4 : 3;
  for (int64_t x = 0; x < layout.width; ++x, in += size) {
    uint32_t pixel = 0;
    for (size_t i = 0; i < size; ++i) pixel |= uint32_t{in[i]} << (8 * i);
    for (size_t c = 0; c < channels; ++c) {
      const bmp::BitField field = layout.fields[c];
      const uint32_t most = (1u << field.bits) - 1;
      *out++ = most == 0 ? 0 : static_cast<uint8_t>((pixel >> field.shift & most) * 255 / most);
    }
  }
}

// Run lengths to indexes, in the order in which rows are stored; pixels without a run are 0.
class RunLengths {
 public:
  RunLengths(Bytes in, bool nibbles, int64_t width, std::span<uint8_t> out, const Scratch& scratch)
      : in_(in), nibbles_(nibbles), width_(static_cast<size_t>(width)), out_(out), scratch_(scratch) {}

  Status decode() {
    for (size_t i = 0; i < out_.size(); i += width_) {
      if (scratch_.is_stopped()) return stopped();
      std::memset(out_.data() + i, 0, width_);
    }
    while (at_ < out_.size()) {
      if (scratch_.is_stopped()) return stopped();
      if (in_.size() < 2) return corrupt("truncated BMP: its runs end early");
      const size_t count = byte(0), value = byte(1);
      in_ = in_.subspan(2);
      if (count > 0) {
        run(count, value);
      } else if (value == 0) {
        end_row();
      } else if (value == 1) {
        return {};
      } else if (value == 2) {
        if (in_.size() < 2) return corrupt("truncated BMP: its runs end early");
        at_ = std::min(out_.size(), at_ + byte(0) + byte(1) * width_);
        column_ = at_ % width_;
        in_ = in_.subspan(2);
      } else {
        HEADRACE_TRY(pixels(value));
      }
    }
    return {};
  }

 private:
  size_t byte(size_t i) const { return std::to_integer<size_t>(in_[i]); }
  size_t half(size_t value, size_t i) const {
    return !nibbles_ ? value : i % 2 == 0 ? value >> 4 : value & 15;
  }
  void put(size_t index) {
    if (at_ < out_.size()) out_[at_++] = static_cast<uint8_t>(index);
  }
  void run(size_t count, size_t value) {
    count = std::min(count, width_ - std::min(width_, column_));  // not beyond the row
    for (size_t i = 0; i < count; ++i) put(half(value, i));
    column_ += count;
  }
  void end_row() {
    at_ = std::min(out_.size(), (at_ + width_ - 1) / width_ * width_);
    column_ = 0;
  }
  Status pixels(size_t count) {
    const size_t used = std::min(count, out_.size() - at_), size = nibbles_ ? (used + 1) / 2 : used;
    if (in_.size() < size) return corrupt("truncated BMP: its runs end early");
    for (size_t i = 0; i < used; ++i) put(half(byte(nibbles_ ? i / 2 : i), i));
    column_ += count;
    in_ = in_.subspan(std::min(in_.size(), size + size % 2));
    return {};
  }

  Bytes in_;
  bool nibbles_;
  size_t width_;
  std::span<uint8_t> out_;  // whole rows
  const Scratch& scratch_;
  size_t at_ = 0, column_ = 0;
};

Status decode_runs(Bytes bytes, const Layout& layout, const Box& part, const Rows& out, Scratch& scratch) {
  const auto size = static_cast<size_t>(layout.height * layout.width);
  const auto indexes = scratch.take<uint8_t>(size);
  if (indexes.empty()) return scratch.over_budget(size, "indexes of a BMP");
  const Bytes runs = bytes.subspan(std::min(layout.pixels, bytes.size()));
  const bool nibbles = layout.packing == bmp::Packing::rle4;
  HEADRACE_TRY(RunLengths(runs, nibbles, layout.width, indexes, scratch).decode());
  const Colors colors = colors_of(layout, out);
  for (int64_t y = part.y; y < part.bottom(); ++y) {
    if (scratch.is_stopped()) return stopped();
    const int64_t stored = layout.top_down ? y : layout.height - 1 - y;
    look_up(indexes.data() + stored * layout.width, layout.width, colors, out.channels, out.row(y));
  }
  return {};
}

// REQUIRES: the rows are within `bytes`, as checked by read_layout.
Status decode_plain(Bytes bytes, const Layout& layout, const Box& part, const Rows& out, Scratch& scratch) {
  const auto unpacked = scratch.take<uint8_t>(static_cast<size_t>(layout.width * 4));
  if (unpacked.empty()) return scratch.over_budget(static_cast<size_t>(layout.width * 4), "a row of a BMP");
  const Colors colors = colors_of(layout, out);
  const auto* first = reinterpret_cast<const uint8_t*>(bytes.data()) + layout.pixels;
  for (int64_t y = part.y; y < part.bottom(); ++y) {
    if (scratch.is_stopped()) return stopped();
    const int64_t stored = layout.top_down ? y : layout.height - 1 - y;
    const uint8_t* in = first + static_cast<uint64_t>(stored) * layout.row_bytes();
    if (layout.has_palette()) {
      indexes_of(in, layout.bits, layout.width, unpacked.data());
      look_up(unpacked.data(), layout.width, colors, out.channels, out.row(y));
    } else {
      unpack(in, layout, unpacked.data());
      convert_channels(unpacked.data(), layout.has_alpha() ? 4 : 3, static_cast<size_t>(layout.width),
                       out.row(y), out.channels);
    }
  }
  return {};
}

Status decode_bmp(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                  size_t row_stride, Scratch& scratch, std::string_view&) {
  HEADRACE_ASSIGN(const Layout layout, bmp::read_layout(bytes));
  if (layout.height != header.height || layout.width != header.width)
    return corrupt("damaged BMP: two different headers");
  const Rows rows{out, row_stride, decoded_channels(header, color), color};
  const Scratch::Mark mark = scratch.mark();
  const Status status = layout.is_run_length_coded() ? decode_runs(bytes, layout, part, rows, scratch)
                                                     : decode_plain(bytes, layout, part, rows, scratch);
  scratch.reset(mark);
  return status;
}

const CodecRegistration registered({.name = "BMP",
                                    .library = "headrace (BMP)",
                                    .endings = {".bmp"},
                                    .recognise = is_bmp,
                                    .read_header = read_bmp_header,
                                    .decode = decode_bmp});

}  // namespace
}  // namespace headrace
