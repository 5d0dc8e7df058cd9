// TIFF through libtiff: the first page, samples of up to 8 bits, in strips or tiles, compressed in any way
// that libtiff knows. Of the orientation tag only a note is made, as with EXIF.
#include <tiffio.h>

#include <algorithm>
#include <cstring>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/color.h"
#include "headrace/codecs/fields.h"
#include "headrace/codecs/tiff/file.h"
#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

using tiff_codec::File;
using tiff_codec::Kind;
using tiff_codec::Layout;
using Bytes = std::span<const std::byte>;

// A bound that honest files stay far below: a strip of one colour through zstd reaches 20,000 to one.
constexpr uint64_t kSamplesPerByte = uint64_t{1} << 17;

bool is_tiff(Bytes bytes) {
  for (const std::string_view magic : {std::string_view("II*\0", 4), std::string_view("MM\0*", 4),
                                       std::string_view("II+\0", 4), std::string_view("MM\0+", 4)})
    if (characters_of(bytes).starts_with(magic)) return true;
  return false;
}

Result<ImageHeader> read_tiff_header(Bytes bytes) {
  HEADRACE_ASSIGN(const std::unique_ptr<File> file, File::open(bytes));
  HEADRACE_ASSIGN(const Layout layout, file->layout());
  const bool is_plausible =
      layout.height <= kMaxImageSide && layout.width <= kMaxImageSide
          ? static_cast<uint64_t>(layout.height * layout.width) / kSamplesPerByte <= bytes.size()
          : true;  // the caller says so
  if (!is_plausible)
    return corrupt("truncated TIFF: " + std::to_string(bytes.size()) + " bytes cannot hold " +
                   std::to_string(layout.height) + " x " + std::to_string(layout.width) + " pixels");
  const int colors = layout.kind == Kind::palette ? 3 : layout.colors();
  return ImageHeader{.height = layout.height,
                     .width = layout.width,
                     .channels = colors + (layout.has_alpha ? 1 : 0),
                     .is_cmyk = layout.kind == Kind::cmyk,
                     .bit_depth = layout.bits,
                     .orientation = layout.orientation};
}

// Samples of all pixels, one byte each, plane by plane or pixel by pixel as the file has them.
struct Samples {
  std::span<uint8_t> bytes;
  int64_t width;
  int step;  // bytes from one pixel to the next
  uint8_t* at(int64_t y, int64_t x) const {
    return bytes.data() + static_cast<size_t>(y * width + x) * static_cast<size_t>(step);
  }
};

// One byte a sample. Not in the file's own width: 1, 2 and 4 bits are still 0 to 1, 3 and 15.
void widen(const uint8_t* in, int bits, int64_t count, uint8_t* out, int step) {
  const int mask = (1 << bits) - 1;
  for (int64_t i = 0; i < count; ++i, out += step)
    *out = static_cast<uint8_t>(in[i * bits / 8] >> (8 - bits - i * bits % 8) & mask);
}

// Rows of a strip or a tile to their place. `plane` is the sample they hold, when planes are separate.
void place_rows(const uint8_t* in, size_t row_bytes, const Layout& layout, const Box& box, int plane,
                const Samples& out) {
  for (int64_t y = 0; y < box.h; ++y, in += row_bytes) {
    uint8_t* to = out.at(box.y + y, box.x) + plane;
    if (layout.separate || layout.bits < 8)
      widen(in, layout.bits, box.w, to, out.step);
    else
      std::memcpy(to, in, static_cast<size_t>(box.w * out.step));
  }
}

// The size of strips or tiles, in pixels.
struct Grid {
  bool tiled;
  int64_t height, width;
};

Result<Grid> grid_of(TIFF* tiff, const Layout& layout) {
  uint32_t height = 0, width = 0;
  if (!TIFFIsTiled(tiff)) {
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &height);
    return Grid{false, std::clamp<int64_t>(height, 1, layout.height), layout.width};
  }
  TIFFGetField(tiff, TIFFTAG_TILELENGTH, &height);
  TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &width);
  if (height < 1 || width < 1 || height > kMaxImageSide || width > kMaxImageSide ||
      int64_t{height} * width > kMaxImagePixels)
    return corrupt("damaged TIFF: tiles of " + std::to_string(height) + " x " + std::to_string(width) +
                   " pixels");
  return Grid{true, height, width};
}

// All strips or tiles that hold pixels of `part`.
Status read_samples(const File& file, const Layout& layout, const Box& part, const Samples& out,
                    Scratch& scratch) {
  TIFF* const tiff = file.get();
  HEADRACE_ASSIGN(const Grid grid, grid_of(tiff, layout));
  const tmsize_t size = grid.tiled ? TIFFTileSize(tiff) : TIFFStripSize(tiff);
  const tmsize_t row = grid.tiled ? TIFFTileRowSize(tiff) : TIFFScanlineSize(tiff);
  const int64_t row_samples = grid.width * (layout.separate ? 1 : layout.samples);
  if (size <= 0 || row < (row_samples * layout.bits + 7) / 8 || size / row < grid.height)
    return file.failed();
  const auto block = scratch.take<uint8_t>(static_cast<size_t>(size));
  if (block.empty()) return scratch.over_budget(static_cast<size_t>(size), "a strip of a TIFF");
  const int planes = layout.separate ? std::min(layout.samples, layout.colors() + 1) : 1;
  for (int plane = 0; plane < planes; ++plane)
    for (int64_t y = part.y / grid.height * grid.height; y < part.bottom(); y += grid.height)
      for (int64_t x = part.x / grid.width * grid.width; x < part.right(); x += grid.width) {
        if (scratch.is_stopped()) return stopped();
        const auto top = static_cast<uint32_t>(y), left = static_cast<uint32_t>(x);
        const auto sample = static_cast<uint16_t>(plane);
        const Box box{y, x, std::min(grid.height, layout.height - y), std::min(grid.width, layout.width - x)};
        const tmsize_t needed = grid.tiled ? size : row * box.h;
        const tmsize_t got =
            grid.tiled
                ? TIFFReadEncodedTile(tiff, TIFFComputeTile(tiff, left, top, 0, sample), block.data(), size)
                : TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, top, sample), block.data(), needed);
        if (got < needed) return file.failed();
        place_rows(block.data(), static_cast<size_t>(row), layout, box, plane, out);
      }
  return {};
}

// libtiff's own conversion to RGBA, for YCbCr that is not JPEG.
Status read_ycc(const File& file, const Layout& layout, const Samples& out, Scratch& scratch) {
  TIFF* const tiff = file.get();
  HEADRACE_TRY(grid_of(tiff, layout).status());
  const auto count = static_cast<size_t>(layout.height * layout.width);
  const auto raster = scratch.take<uint32_t>(count);
  if (raster.empty()) return scratch.over_budget(count * sizeof(uint32_t), "colours of a TIFF");
  char text[1024] = "";
  TIFFRGBAImage image;
  if (!TIFFRGBAImageOK(tiff, text) || !TIFFRGBAImageBegin(&image, tiff, 1, text))
    return {Code::unavailable, "TIFF of YCbCr that libtiff cannot read: " + std::string(text)};
  image.req_orientation = image.orientation;
  const int done = TIFFRGBAImageGet(&image, raster.data(), static_cast<uint32_t>(layout.width),
                                    static_cast<uint32_t>(layout.height));
  TIFFRGBAImageEnd(&image);
  if (!done) return file.failed();
  for (size_t i = 0; i < count; ++i) {
    out.bytes[3 * i] = static_cast<uint8_t>(TIFFGetR(raster[i]));
    out.bytes[3 * i + 1] = static_cast<uint8_t>(TIFFGetG(raster[i]));
    out.bytes[3 * i + 2] = static_cast<uint8_t>(TIFFGetB(raster[i]));
  }
  return {};
}

// RGB of a palette, of which the file has 16 bits.
struct Palette {
  uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
};

uint8_t without_alpha(int value, int alpha) {
  return static_cast<uint8_t>(alpha == 0 ? 0 : std::min(value * 255 / alpha, 255));
}

// Samples to pixels of 1 to 4 channels: grey, grey + alpha, RGB, RGBA or CMYK.
void make_pixels(const uint8_t* in, const Layout& layout, int step, int64_t count, const Palette& palette,
                 uint8_t* out) {
  const int most = (1 << layout.bits) - 1, colors = layout.colors();
  for (int64_t x = 0; x < count; ++x, in += step) {
    if (layout.kind == Kind::palette) {
      for (const uint16_t* channel : {palette.red, palette.green, palette.blue})
        *out++ = static_cast<uint8_t>(channel[in[0]] >> 8);
    } else if (layout.kind == Kind::gray) {
      const int value = in[0] * 255 / most;
      *out++ = static_cast<uint8_t>(layout.inverted ? 255 - value : value);
    } else {
      for (int c = 0; c < colors; ++c) *out++ = in[c];
    }
    if (!layout.has_alpha) continue;
    const uint8_t alpha = in[colors];
    const int made = layout.kind == Kind::palette ? 3 : colors;
    for (int c = 1; layout.is_premultiplied && c <= made; ++c) out[-c] = without_alpha(out[-c], alpha);
    *out++ = alpha;
  }
}

void convert_pixels(const uint8_t* pixels, const ImageHeader& header, int64_t count, uint8_t* rgb,
                    uint8_t* out, int channels) {
  const auto width = static_cast<size_t>(count);
  if (!header.is_cmyk || channels == 4)
    return convert_channels(pixels, header.channels, width, out, channels);
  cmyk_to_rgb(pixels, width, rgb);
  convert_channels(rgb, 3, width, out, channels);
}

Status decode_opened(File& file, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                     size_t row_stride, Scratch& scratch) {
  HEADRACE_ASSIGN(Layout layout, file.layout());
  if (layout.height != header.height || layout.width != header.width)
    return corrupt("damaged TIFF: two headers");
  Palette palette;
  if (layout.kind == Kind::palette &&
      !TIFFGetField(file.get(), TIFFTAG_COLORMAP, &palette.red, &palette.green, &palette.blue))
    return corrupt("damaged TIFF: no palette");
  const bool by_libtiff = layout.kind == Kind::ycc && !layout.jpeg;
  if (layout.kind == Kind::ycc && layout.jpeg)
    TIFFSetField(file.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  const int step = by_libtiff ? 3 : layout.samples;
  const auto size = static_cast<size_t>(layout.height * layout.width) * static_cast<size_t>(step);
  const auto memory = scratch.take<uint8_t>(size),
             rows = scratch.take<uint8_t>(static_cast<size_t>(layout.width) * 8);
  if (memory.empty() || rows.empty()) return scratch.over_budget(size, "samples of a TIFF");
  const Samples samples{memory, layout.width, step};
  HEADRACE_TRY(by_libtiff ? read_ycc(file, layout, samples, scratch)
                          : read_samples(file, layout, part, samples, scratch));
  const int channels = decoded_channels(header, color);
  for (int64_t y = part.y; y < part.bottom(); ++y) {
    make_pixels(samples.at(y, part.x), layout, step, part.w, palette, rows.data());
    convert_pixels(rows.data(), header, part.w, rows.data() + 4 * layout.width,
                   out + static_cast<size_t>(y) * row_stride + part.x * channels, channels);
  }
  return {};
}

Status decode_tiff(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                   size_t row_stride, Scratch& scratch) {
  HEADRACE_ASSIGN(const std::unique_ptr<File> file, File::open(bytes));
  const Scratch::Mark mark = scratch.mark();
  const Status status = decode_opened(*file, header, color, part, out, row_stride, scratch);
  scratch.reset(mark);
  return status;
}

const CodecRegistration registered({.name = "TIFF",
                                    .endings = {".tif", ".tiff"},
                                    .recognise = is_tiff,
                                    .read_header = read_tiff_header,
                                    .decode = decode_tiff});

}  // namespace
}  // namespace headrace
