// TIFF through libtiff: the first page, samples of up to 8 bits, 16 or floats, in strips or tiles, compressed
// in any way that libtiff supports. The orientation tag is only reported, as with EXIF.
#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/color.h"
#include "headrace/codecs/fields.h"
#include "headrace/codecs/library_memory.h"
#include "headrace/codecs/tiff/file.h"
#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

using tiff_codec::File;
using tiff_codec::Kind;
using tiff_codec::Layout;
using Bytes = std::span<const std::byte>;

// A bound that valid files stay far below: a strip of one colour through zstd reaches 20,000 to one.
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
          : true;  // reported by the caller
  if (!is_plausible)
    return corrupt("truncated TIFF: " + std::to_string(bytes.size()) + " bytes cannot hold " +
                   std::to_string(layout.height) + " x " + std::to_string(layout.width) + " pixels");
  const int colors = layout.kind == Kind::palette ? 3 : layout.colors();
  return ImageHeader{.height = layout.height,
                     .width = layout.width,
                     .channels = colors + (layout.has_alpha ? 1 : 0),
                     .is_cmyk = layout.kind == Kind::cmyk,
                     .bit_depth = layout.bits,
                     .orientation = layout.orientation,
                     .has_indexes = layout.kind == Kind::palette ||
                                    (layout.kind == Kind::gray && layout.samples == 1 &&
                                     (layout.bits <= 8 || (layout.bits == 16 && !layout.inverted))),
                     .dtype = layout.floats       ? DType::f32
                              : layout.bits == 16 ? DType::u16
                                                  : DType::u8,
                     .most = static_cast<uint16_t>(layout.bits == 16 ? 65535 : 255)};
}

// Samples of all pixels, of one byte or Layout::sample_bytes, plane by plane or pixel by pixel as in the
// file.
struct Samples {
  std::span<uint8_t> bytes;
  int64_t width;
  int step;  // bytes from one pixel to the next
  uint8_t* at(int64_t y, int64_t x) const {
    return bytes.data() + static_cast<size_t>(y * width + x) * static_cast<size_t>(step);
  }
};

// Expands to one byte per sample, without scaling: 1, 2 and 4 bits are still 0 to 1, 3 and 15.
void widen(const uint8_t* in, int bits, int64_t count, uint8_t* out, int step) {
  const int mask = (1 << bits) - 1;
  for (int64_t i = 0; i < count; ++i, out += step)
    *out = static_cast<uint8_t>(in[i * bits / 8] >> (8 - bits - i * bits % 8) & mask);
}

// Copies rows of a strip or a tile to their place. `plane` is their sample, when planes are separate.
void place_rows(const uint8_t* in, size_t row_bytes, const Layout& layout, const Box& box, int plane,
                const Samples& out) {
  for (int64_t y = 0; y < box.h; ++y, in += row_bytes) {
    const int bytes = layout.sample_bytes();
    uint8_t* to = out.at(box.y + y, box.x) + plane * bytes;
    if (layout.bits < 8 || (layout.separate && bytes == 1))
      widen(in, layout.bits, box.w, to, out.step);
    else if (layout.separate)
      for (int64_t x = 0; x < box.w; ++x, to += out.step)
        std::memcpy(to, in + x * bytes, static_cast<size_t>(bytes));
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

// Whether a strip can be read row by row; if not, its codec decodes all of it before the first row.
bool decodes_rows(TIFF* tiff) {
  uint16_t compression = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
  // Runs of PackBits may continue across rows, which libtiff cuts off when it reads rows.
  constexpr std::array whole{COMPRESSION_PACKBITS, COMPRESSION_JBIG, COMPRESSION_LERC, COMPRESSION_WEBP,
                             COMPRESSION_PIXARLOG};
  return std::find(whole.begin(), whole.end(), compression) == whole.end();
}

// The rows of one strip, from its first one, which hold pixels of `part`: a strip may be the whole image.
Status read_rows(const File& file, const Layout& layout, const Box& strip, const Box& part, int plane,
                 std::span<uint8_t> row, const Samples& out, const Scratch& scratch) {
  const int64_t bottom = std::min(strip.bottom(), part.bottom());
  for (int64_t y = strip.y; y < bottom; ++y) {
    if (scratch.is_stopped()) return stopped();
    if (TIFFReadScanline(file.get(), row.data(), static_cast<uint32_t>(y), static_cast<uint16_t>(plane)) < 0)
      return file.failed();
    if (y >= part.y) place_rows(row.data(), row.size(), layout, {y, 0, 1, strip.w}, plane, out);
  }
  return {};
}

// A strip or a tile at once.
Status read_block(const File& file, const Layout& layout, const Grid& grid, const Box& box, int plane,
                  size_t row_bytes, std::span<uint8_t> block, const Samples& out) {
  TIFF* const tiff = file.get();
  const auto top = static_cast<uint32_t>(box.y), left = static_cast<uint32_t>(box.x);
  const auto sample = static_cast<uint16_t>(plane);
  const auto size = static_cast<tmsize_t>(block.size());
  const tmsize_t needed = grid.tiled ? size : static_cast<tmsize_t>(row_bytes) * box.h;
  const tmsize_t got =
      grid.tiled ? TIFFReadEncodedTile(tiff, TIFFComputeTile(tiff, left, top, 0, sample), block.data(), size)
                 : TIFFReadEncodedStrip(tiff, TIFFComputeStrip(tiff, top, sample), block.data(), needed);
  if (got < needed) return file.failed();
  place_rows(block.data(), row_bytes, layout, box, plane, out);
  return {};
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
  const bool by_rows = !grid.tiled && decodes_rows(tiff);
  const auto row_bytes = static_cast<size_t>(row),
             block_bytes = by_rows ? row_bytes : static_cast<size_t>(size);
  const auto block = scratch.take<uint8_t>(block_bytes);
  if (block.empty()) return scratch.over_budget(block_bytes, "a strip of a TIFF");
  LibraryMemory memory(scratch);
  if (!by_rows && !memory.expect(block_bytes)) return memory.over_budget("libtiff's copy of a strip");
  const int planes = layout.separate ? std::min(layout.samples, layout.colors() + 1) : 1;
  for (int plane = 0; plane < planes; ++plane)
    for (int64_t y = part.y / grid.height * grid.height; y < part.bottom(); y += grid.height)
      for (int64_t x = part.x / grid.width * grid.width; x < part.right(); x += grid.width) {
        if (scratch.is_stopped()) return stopped();
        const Box box{y, x, std::min(grid.height, layout.height - y), std::min(grid.width, layout.width - x)};
        HEADRACE_TRY(by_rows ? read_rows(file, layout, box, part, plane, block, out, scratch)
                             : read_block(file, layout, grid, box, plane, row_bytes, block, out));
      }
  return {};
}

// libtiff's own conversion to RGBA, for YCbCr that is not JPEG, a strip or tile of rows at a time.
Status convert_ycc(const File& file, const Layout& layout, const Grid& grid, TIFFRGBAImage& image,
                   std::span<uint32_t> raster, const Samples& out, const Scratch& scratch) {
  for (int64_t y = 0; y < layout.height; y += grid.height) {
    if (scratch.is_stopped()) return stopped();
    const int64_t rows = std::min(grid.height, layout.height - y);
    image.row_offset = static_cast<int>(y);
    if (!TIFFRGBAImageGet(&image, raster.data(), static_cast<uint32_t>(layout.width),
                          static_cast<uint32_t>(rows)))
      return file.failed();
    uint8_t* to = out.at(y, 0);
    for (int64_t i = 0; i < rows * layout.width; ++i, to += 3) {
      const uint32_t pixel = raster[static_cast<size_t>(i)];
      to[0] = static_cast<uint8_t>(TIFFGetR(pixel));
      to[1] = static_cast<uint8_t>(TIFFGetG(pixel));
      to[2] = static_cast<uint8_t>(TIFFGetB(pixel));
    }
  }
  return {};
}

Status read_ycc(const File& file, const Layout& layout, const Samples& out, Scratch& scratch) {
  TIFF* const tiff = file.get();
  HEADRACE_ASSIGN(const Grid grid, grid_of(tiff, layout));
  const auto count = static_cast<size_t>(std::min(grid.height, layout.height) * layout.width);
  const auto raster = scratch.take<uint32_t>(count);
  if (raster.empty()) return scratch.over_budget(count * sizeof(uint32_t), "colours of a TIFF");
  LibraryMemory memory(scratch);
  const tmsize_t block = grid.tiled ? TIFFTileSize(tiff) : TIFFStripSize(tiff);
  if (!memory.expect(static_cast<size_t>(std::max<tmsize_t>(block, 0))))
    return memory.over_budget("libtiff's strip of a TIFF");
  char text[1024] = "";
  TIFFRGBAImage image;
  if (!TIFFRGBAImageOK(tiff, text) || !TIFFRGBAImageBegin(&image, tiff, 1, text))
    return {Code::unavailable, "unsupported TIFF of YCbCr: " + std::string(text)};
  image.req_orientation = image.orientation;
  const Status status = convert_ycc(file, layout, grid, image, raster, out, scratch);
  TIFFRGBAImageEnd(&image);
  return status;
}

// RGB of a palette, stored in 16 bits.
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

uint16_t without_alpha(uint16_t value, uint16_t alpha) {
  return static_cast<uint16_t>(alpha == 0 ? 0 : std::min(value * 65535u / alpha, 65535u));
}
float without_alpha(float value, float alpha) { return alpha == 0 ? 0 : value / alpha; }
uint16_t inverted(uint16_t value) { return static_cast<uint16_t>(65535 - value); }
float inverted(float value) { return value; }  // which number is white is not known

// Samples of 16 bits or floats to pixels of 1 to 4 channels.
template <class T> void make_wide_pixels(const T* in, const Layout& layout, int64_t count, T* out) {
  const int colors = layout.colors();
  for (int64_t x = 0; x < count; ++x, in += layout.samples) {
    for (int c = 0; c < colors; ++c) {
      const T value = layout.inverted ? inverted(in[c]) : in[c];
      *out++ = layout.has_alpha && layout.is_premultiplied ? without_alpha(value, in[colors]) : value;
    }
    if (layout.has_alpha) *out++ = in[colors];
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

// Where the samples of a row go as pixels.
struct PixelRows {
  const Layout& layout;
  const ImageHeader& header;
  const Box& part;
  const Palette& palette;
  int step;                     // bytes from one pixel's samples to the next
  std::span<uint8_t> unpacked;  // a row of pixels, then a row of RGB
  uint8_t* out;
  size_t row_stride;
  int channels;
  bool indexes;  // of a palette: the samples themselves

  // `samples` of pixel (y, part.x) and of all pixels right of it.
  void write(int64_t y, const uint8_t* samples) const {
    if (layout.bits > 8) {
      uint8_t* const to =
          out + static_cast<size_t>(y) * row_stride + part.x * header.channels * layout.sample_bytes();
      if (layout.floats)
        make_wide_pixels(reinterpret_cast<const float*>(samples), layout, part.w,
                         reinterpret_cast<float*>(to));
      else
        make_wide_pixels(reinterpret_cast<const uint16_t*>(samples), layout, part.w,
                         reinterpret_cast<uint16_t*>(to));
      return;
    }
    if (indexes) {
      uint8_t* const to = out + static_cast<size_t>(y) * row_stride + part.x;
      for (int64_t x = 0; x < part.w; ++x) to[x] = samples[x * step];
      return;
    }
    make_pixels(samples, layout, step, part.w, palette, unpacked.data());
    convert_pixels(unpacked.data(), header, part.w, unpacked.data() + 4 * layout.width,
                   out + static_cast<size_t>(y) * row_stride + part.x * channels, channels);
  }
};

// Strips whose rows hold all samples of their pixels: each row is converted as it comes.
Status decode_by_rows(const File& file, const Layout& layout, const PixelRows& pixels, Scratch& scratch) {
  HEADRACE_ASSIGN(const Grid grid, grid_of(file.get(), layout));
  const tmsize_t row_size = TIFFScanlineSize(file.get());
  if (row_size < (layout.width * layout.samples * layout.bits + 7) / 8) return file.failed();
  const auto row = scratch.take<uint8_t>(static_cast<size_t>(row_size));
  const int pixel = layout.samples * layout.sample_bytes();
  const auto line = scratch.take<uint8_t>(static_cast<size_t>(layout.width * pixel));
  if (row.empty() || line.empty()) return scratch.over_budget(row.size() * 2, "a row of a TIFF");
  const Samples samples{line, layout.width, pixel};
  const Box& part = pixels.part;
  for (int64_t y = part.y / grid.height * grid.height; y < part.bottom(); ++y) {
    if (scratch.is_stopped()) return stopped();
    if (TIFFReadScanline(file.get(), row.data(), static_cast<uint32_t>(y), 0) < 0) return file.failed();
    if (y < part.y) continue;
    place_rows(row.data(), row.size(), layout, {0, 0, 1, layout.width}, 0, samples);
    pixels.write(y, samples.at(0, part.x));
  }
  return {};
}

// Everything else: all samples first, then pixels.
Status decode_by_samples(const File& file, const Layout& layout, const PixelRows& pixels, bool by_libtiff,
                         Scratch& scratch) {
  const auto size = static_cast<size_t>(layout.height * layout.width) * static_cast<size_t>(pixels.step);
  const auto memory = scratch.take<uint8_t>(size);
  if (memory.empty()) return scratch.over_budget(size, "samples of a TIFF");
  const Samples samples{memory, layout.width, pixels.step};
  const Box& part = pixels.part;
  HEADRACE_TRY(by_libtiff ? read_ycc(file, layout, samples, scratch)
                          : read_samples(file, layout, part, samples, scratch));
  for (int64_t y = part.y; y < part.bottom(); ++y) {
    if (scratch.is_stopped()) return stopped();
    pixels.write(y, samples.at(y, part.x));
  }
  return {};
}

Status decode_opened(File& file, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                     size_t row_stride, Scratch& scratch) {
  HEADRACE_ASSIGN(const Layout layout, file.layout());
  if (layout.height != header.height || layout.width != header.width ||
      (layout.bits > 8) != (header.dtype != DType::u8))
    return corrupt("damaged TIFF: two different headers");
  Palette palette;
  if (layout.kind == Kind::palette &&
      !TIFFGetField(file.get(), TIFFTAG_COLORMAP, &palette.red, &palette.green, &palette.blue))
    return corrupt("damaged TIFF: no palette");
  const bool by_libtiff = layout.kind == Kind::ycc && !layout.jpeg;
  if (layout.kind == Kind::ycc && layout.jpeg)
    TIFFSetField(file.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  const auto unpacked = scratch.take<uint8_t>(static_cast<size_t>(layout.width) * 8);
  if (unpacked.empty()) return scratch.over_budget(unpacked.size(), "a row of a TIFF");
  const PixelRows pixels{layout,
                         header,
                         part,
                         palette,
                         by_libtiff ? 3 : layout.samples * layout.sample_bytes(),
                         unpacked,
                         out,
                         row_stride,
                         decoded_channels(header, color),
                         color == Color::index};
  const bool by_rows =
      !by_libtiff && !layout.separate && !TIFFIsTiled(file.get()) && decodes_rows(file.get());
  return by_rows ? decode_by_rows(file, layout, pixels, scratch)
                 : decode_by_samples(file, layout, pixels, by_libtiff, scratch);
}

// Uncompressed data must all be there, even when none of the missing is needed; other codecs report it
// themselves when they reach it, and files whose counts are too large are common.
Status check_is_whole(TIFF* tiff, uint64_t size) {
  uint16_t compression = COMPRESSION_NONE;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
  const uint32_t blocks = TIFFIsTiled(tiff) ? TIFFNumberOfTiles(tiff) : TIFFNumberOfStrips(tiff);
  for (uint32_t i = 0; i < blocks; ++i) {
    const uint64_t begin = TIFFGetStrileOffset(tiff, i);
    const uint64_t length = compression == COMPRESSION_NONE ? TIFFGetStrileByteCount(tiff, i) : 0;
    if (begin > size || length > size - begin)
      return corrupt("truncated TIFF: " + std::to_string(size) + " bytes, and a part of " +
                     std::to_string(length) + " begins at byte " + std::to_string(begin));
  }
  return {};
}

Status decode_tiff(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                   size_t row_stride, Scratch& scratch, std::string_view&) {
  HEADRACE_ASSIGN(const std::unique_ptr<File> file, File::open(bytes));
  HEADRACE_TRY(check_is_whole(file->get(), bytes.size()));
  const Scratch::Mark mark = scratch.mark();
  file->complaint.clear();
  const Status status = decode_opened(*file, header, color, part, out, row_stride, scratch);
  scratch.reset(mark);
  // The decoders of fax codes report damage and continue.
  return status.ok() && !file->complaint.empty() ? file->failed() : status;
}

Status decode_stored_tiff(Bytes bytes, const ImageHeader& header, const Box& part, std::byte* out,
                          size_t row_stride, Scratch& scratch) {
  std::string_view decoder;  // always the library
  return decode_tiff(bytes, header, Color::unchanged, part, reinterpret_cast<uint8_t*>(out), row_stride,
                     scratch, decoder);
}

const CodecRegistration registered({.name = "TIFF",
                                    .library = "libtiff",
                                    .endings = {".tif", ".tiff"},
                                    .recognise = is_tiff,
                                    .read_header = read_tiff_header,
                                    .decode = decode_tiff,
                                    .decode_stored = decode_stored_tiff});

}  // namespace
}  // namespace headrace
