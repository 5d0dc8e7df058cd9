// JPEG 2000 through openjpeg: code streams and JP2 files of one to four components, of up to 16 bits.
#include <openjpeg.h>

#include <algorithm>
#include <cstring>
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

constexpr std::string_view kCodeStream = "\xff\x4f\xff\x51";
constexpr std::string_view kJp2{"\0\0\0\x0cjP  \r\n\x87\n", 12};
constexpr OPJ_COLOR_SPACE kCmyk = OPJ_CLRSPC_CMYK;

bool is_jpeg2000(Bytes bytes) {
  return characters_of(bytes).starts_with(kCodeStream) || characters_of(bytes).starts_with(kJp2);
}

struct FreeStream {
  void operator()(opj_stream_t* stream) const { opj_stream_destroy(stream); }
};
struct FreeCodec {
  void operator()(opj_codec_t* codec) const { opj_destroy_codec(codec); }
};
struct FreeImage {
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};

struct Input {
  Bytes bytes;
  size_t at = 0;
};

OPJ_SIZE_T read_bytes(void* to, OPJ_SIZE_T wanted, void* user) {
  Input& input = *static_cast<Input*>(user);
  const size_t size = std::min(wanted, input.bytes.size() - input.at);
  if (size == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, input.bytes.data() + input.at, size);
  input.at += size;
  return size;
}

OPJ_OFF_T skip_bytes(OPJ_OFF_T count, void* user) {
  Input& input = *static_cast<Input*>(user);
  if (count < 0) return -1;
  const auto left = static_cast<OPJ_OFF_T>(input.bytes.size() - input.at);
  const OPJ_OFF_T skipped = std::min(count, left);
  input.at += static_cast<size_t>(skipped);
  return skipped > 0 || count == 0 ? skipped : -1;
}

OPJ_BOOL seek_to(OPJ_OFF_T at, void* user) {
  Input& input = *static_cast<Input*>(user);
  if (at < 0 || static_cast<size_t>(at) > input.bytes.size()) return OPJ_FALSE;
  input.at = static_cast<size_t>(at);
  return OPJ_TRUE;
}

void keep_message(const char* text, void* user) {
  auto& message = *static_cast<std::string*>(user);
  if (message.empty()) message = text;
  while (!message.empty() && message.back() == '\n') message.pop_back();
}
void ignore_message(const char*, void*) {}

// One file in openjpeg. One thread.
class Reader {
 public:
  explicit Reader(Bytes bytes) : input_{bytes} {}

  Status read_header() {
    const bool is_bare = characters_of(input_.bytes).starts_with(kCodeStream);
    stream_.reset(opj_stream_default_create(OPJ_TRUE));
    codec_.reset(opj_create_decompress(is_bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
    if (!stream_ || !codec_) return {Code::exhausted, "out of memory for a JPEG 2000 decoder"};
    opj_stream_set_user_data(stream_.get(), &input_, nullptr);
    opj_stream_set_user_data_length(stream_.get(), input_.bytes.size());
    opj_stream_set_read_function(stream_.get(), read_bytes);
    opj_stream_set_skip_function(stream_.get(), skip_bytes);
    opj_stream_set_seek_function(stream_.get(), seek_to);
    opj_set_error_handler(codec_.get(), keep_message, &message_);
    opj_set_warning_handler(codec_.get(), ignore_message, nullptr);
    opj_set_info_handler(codec_.get(), ignore_message, nullptr);
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    if (!opj_setup_decoder(codec_.get(), &parameters)) return failed();
    opj_decoder_set_strict_mode(codec_.get(), OPJ_TRUE);
    opj_image_t* image = nullptr;
    const bool read = opj_read_header(stream_.get(), codec_.get(), &image);
    image_.reset(image);
    return read && image ? Status() : failed();
  }

  // All of the image.
  Status decode() {
    const bool decoded = opj_decode(codec_.get(), stream_.get(), image_.get());
    return decoded ? has_samples() : failed();
  }

  // One tile, which is then all that the image holds.
  Status decode_tile(uint32_t tile) {
    const bool decoded = opj_get_decoded_tile(codec_.get(), stream_.get(), image_.get(), tile);
    return decoded ? has_samples() : failed();
  }

  // Tiles are on a grid of their own, in which the image may begin anywhere.
  struct Tiles {
    int64_t y = 0, x = 0, height = 0, width = 0, rows = 0, columns = 0;
  };
  Tiles tiles() const {
    opj_codestream_info_v2_t* info = opj_get_cstr_info(codec_.get());
    if (!info) return {};
    const Tiles tiles{info->ty0, info->tx0, info->tdy, info->tdx, info->th, info->tw};
    opj_destroy_cstr_info(&info);
    return tiles;
  }

  const opj_image_t& image() const { return *image_; }

 private:
  Status has_samples() const {
    const bool sound = std::all_of(
        image_->comps, image_->comps + image_->numcomps,
        [](const opj_image_comp_t& c) { return c.data && c.w >= 1 && c.h >= 1 && c.dx >= 1 && c.dy >= 1; });
    return sound ? Status() : corrupt("damaged JPEG 2000: a component without samples");
  }
  Status failed() const { return corrupt("damaged JPEG 2000" + (message_.empty() ? "" : ": " + message_)); }

  Input input_;
  std::string message_;
  std::unique_ptr<opj_stream_t, FreeStream> stream_;
  std::unique_ptr<opj_codec_t, FreeCodec> codec_;
  std::unique_ptr<opj_image_t, FreeImage> image_;
};

// Whether the header of the container has a box of this type.
bool has_box(Bytes bytes, std::string_view kind) {
  const std::string_view text = characters_of(bytes);
  const size_t header = text.find("jp2h");
  return text.starts_with(kJp2) && header != text.npos && text.substr(header, 1024).find(kind) != text.npos;
}

// The image is at x0, y0 of a grid; a component has every dx-th sample of it.
bool is_subsampled(const opj_image_t& image) {
  return std::any_of(image.comps, image.comps + image.numcomps,
                     [](const opj_image_comp_t& c) { return c.dx != 1 || c.dy != 1; });
}

bool is_ycc(const opj_image_t& image) {
  if (image.numcomps < 3) return false;
  return image.color_space == OPJ_CLRSPC_SYCC ||
         (image.color_space == OPJ_CLRSPC_UNSPECIFIED && is_subsampled(image));
}

int bits_of(const opj_image_t& image) {
  uint32_t most = 0;
  for (uint32_t c = 0; c < image.numcomps; ++c) most = std::max(most, image.comps[c].prec);
  return static_cast<int>(most);
}

Status check_kind(const opj_image_t& image) {
  const auto unavailable = [](const std::string& text) { return Status(Code::unavailable, text); };
  if (image.numcomps < 1 || image.numcomps > 4)
    return unavailable("expected a JPEG 2000 of 1 to 4 components, got " + std::to_string(image.numcomps));
  if (is_subsampled(image) && !is_ycc(image))
    return unavailable("expected a JPEG 2000 whose components have one size, or YCbCr");
  for (uint32_t c = 0; c < image.numcomps; ++c)
    if (image.comps[c].prec < 1 || image.comps[c].prec > 16)
      return unavailable("expected a JPEG 2000 of up to 16 bits, got " + std::to_string(image.comps[c].prec));
  for (uint32_t c = 0; c < image.numcomps && bits_of(image) > 8; ++c)
    if (image.comps[c].sgnd || static_cast<int>(image.comps[c].prec) != bits_of(image))
      return unavailable(
          "expected a JPEG 2000 of more than 8 bits to have unsigned components of equally many");
  return {};
}

Result<ImageHeader> read_jpeg2000_header(Bytes bytes) {
  if (has_box(bytes, "pclr")) return Status(Code::unavailable, "a JPEG 2000 with a palette is not supported");
  Reader reader(bytes);
  HEADRACE_TRY(reader.read_header());
  const opj_image_t& image = reader.image();
  HEADRACE_TRY(check_kind(image));
  return ImageHeader{.height = int64_t{image.y1} - image.y0,
                     .width = int64_t{image.x1} - image.x0,
                     .channels = static_cast<int>(image.numcomps),
                     .is_cmyk = image.numcomps == 4 && image.color_space == kCmyk,
                     .bit_depth = bits_of(image) > 8 ? bits_of(image) : static_cast<int>(image.comps[0].prec),
                     .dtype = bits_of(image) > 8 ? DType::u16 : DType::u8,
                     .most = static_cast<uint16_t>((1 << std::max(bits_of(image), 8)) - 1)};
}

// Sample (y, x) of the image; missing samples of a component repeat its last ones.
int64_t stored_sample(const opj_image_comp_t& component, int64_t y, int64_t x) {
  const int64_t row = std::min<int64_t>(y / component.dy, component.h - 1),
                column = std::min<int64_t>(x / component.dx, component.w - 1);
  return component.data[row * component.w + column];
}

// The same of up to 8 bits, in 8.
uint8_t sample(const opj_image_comp_t& component, int64_t y, int64_t x) {
  const int precision = static_cast<int>(component.prec);
  int64_t value = stored_sample(component, y, x);
  if (component.sgnd) value += int64_t{1} << (precision - 1);
  return static_cast<uint8_t>(std::clamp<int64_t>(value << (8 - precision), 0, 255));
}

template <class T> void ycc_to_rgb(T* pixel, int most) {
  const double half = (most + 1) / 2;
  const double y = pixel[0], cb = pixel[1] - half, cr = pixel[2] - half;
  const auto number = [&](double v) { return static_cast<T>(std::clamp(v + 0.5, 0.0, 1.0 * most)); };
  pixel[0] = number(y + 1.402 * cr);
  pixel[1] = number(y - 0.344136 * cb - 0.714136 * cr);
  pixel[2] = number(y + 1.772 * cb);
}

// Samples x to x + width of row y, of those that the image holds.
void fill_row(const opj_image_t& image, bool ycc, int64_t y, int64_t x, int64_t width, uint8_t* out) {
  for (const int64_t right = x + width; x < right; ++x, out += image.numcomps) {
    for (uint32_t c = 0; c < image.numcomps; ++c) out[c] = sample(image.comps[c], y, x);
    if (ycc) ycc_to_rgb(out, 255);
  }
}

// The same of more than 8 bits.
void fill_wide_row(const opj_image_t& image, bool ycc, int64_t y, int64_t x, int64_t width, int most,
                   uint16_t* out) {
  for (const int64_t right = x + width; x < right; ++x, out += image.numcomps) {
    for (uint32_t c = 0; c < image.numcomps; ++c)
      out[c] = static_cast<uint16_t>(std::clamp<int64_t>(stored_sample(image.comps[c], y, x), 0, most));
    if (ycc) ycc_to_rgb(out, most);
  }
}

// Where decoded samples go.
struct Pixels {
  const ImageHeader& header;
  std::span<uint8_t> row, rgb;  // a row of samples; one of RGB
  uint8_t* out;
  size_t row_stride;
  int channels;
  bool ycc;

  // The part of the whole image, of which `image` holds the region from `held` on.
  Status write(const opj_image_t& image, const Box& held, const Box& part, const Scratch& scratch) const {
    const auto width = static_cast<size_t>(part.w);
    for (int64_t y = part.y; y < part.bottom(); ++y) {
      if (scratch.is_stopped()) return stopped();
      if (header.dtype == DType::u16) {
        auto* const wide = reinterpret_cast<uint16_t*>(out + static_cast<size_t>(y) * row_stride);
        fill_wide_row(image, ycc, y - held.y, part.x - held.x, part.w, header.most,
                      wide + part.x * header.channels);
        continue;
      }
      uint8_t* const to = out + static_cast<size_t>(y) * row_stride + part.x * channels;
      fill_row(image, ycc, y - held.y, part.x - held.x, part.w, row.data());
      if (header.is_cmyk && channels != 4) {
        cmyk_to_rgb(row.data(), width, rgb.data());
        convert_channels(rgb.data(), 3, width, to, channels);
      } else {
        convert_channels(row.data(), header.channels, width, to, channels);
      }
    }
    return {};
  }
};

// openjpeg's own: four bytes for each sample of a tile, twice while they are computed, and four for those of
// the whole image where all tiles are decoded together; and the tile's compressed bytes.
size_t bytes_within_openjpeg(const opj_image_t& image, size_t tile_pixels, size_t image_pixels, size_t file) {
  return 4 * image.numcomps * (2 * tile_pixels + image_pixels) + file;
}

// Tile after tile, those that hold pixels of `part`.
Status decode_tiles(Reader& reader, const Reader::Tiles& tiles, const Box& part, const Pixels& pixels,
                    const Scratch& scratch) {
  const int64_t top = reader.image().y0, left = reader.image().x0;
  const Box whole = pixels.header.whole();
  for (int64_t row = 0; row < tiles.rows; ++row)
    for (int64_t column = 0; column < tiles.columns; ++column) {
      const int64_t y = std::max<int64_t>(tiles.y + row * tiles.height - top, 0),
                    x = std::max<int64_t>(tiles.x + column * tiles.width - left, 0);
      const int64_t bottom = std::min(tiles.y + (row + 1) * tiles.height - top, whole.h),
                    right = std::min(tiles.x + (column + 1) * tiles.width - left, whole.w);
      const int64_t first_y = std::max(y, part.y), first_x = std::max(x, part.x);
      const Box needed{first_y, first_x, std::min(bottom, part.bottom()) - first_y,
                       std::min(right, part.right()) - first_x};
      if (needed.h < 1 || needed.w < 1) continue;
      if (scratch.is_stopped()) return stopped();
      HEADRACE_TRY(reader.decode_tile(static_cast<uint32_t>(row * tiles.columns + column)));
      for (uint32_t c = 0; c < reader.image().numcomps; ++c)
        if (reader.image().comps[c].h != bottom - y || reader.image().comps[c].w != right - x)
          return corrupt("damaged JPEG 2000: a tile of another size");
      HEADRACE_TRY(pixels.write(reader.image(), {y, x, bottom - y, right - x}, needed, scratch));
    }
  return {};
}

Status decode_samples(Reader& reader, Bytes file, const Box& part, const Pixels& pixels, Scratch& scratch) {
  const opj_image_t& image = reader.image();
  const auto area = static_cast<size_t>(pixels.header.height * pixels.header.width);
  const Reader::Tiles tiles = reader.tiles();
  // With subsampling, a pixel at a tile boundary needs samples of two tiles; and openjpeg reorders channels
  // as the container says (cdef) in the first tile only.
  const bool by_tiles = tiles.rows * tiles.columns > 1 && !is_subsampled(image) && !has_box(file, "cdef");
  const int64_t tile_height = std::min(tiles.height, pixels.header.height),
                tile_width = std::min(tiles.width, pixels.header.width);
  const size_t tile = by_tiles ? static_cast<size_t>(tile_height * tile_width) : area;
  LibraryMemory memory(scratch);
  if (!memory.expect(bytes_within_openjpeg(image, tile, by_tiles ? 0 : area, file.size())))
    return memory.over_budget("a JPEG 2000 decoder");
  if (by_tiles) return decode_tiles(reader, tiles, part, pixels, scratch);
  HEADRACE_TRY(reader.decode());
  return pixels.write(image, pixels.header.whole(), part, scratch);
}

Status decode_jpeg2000(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                       size_t row_stride, Scratch& scratch) {
  Reader reader(bytes);
  HEADRACE_TRY(reader.read_header());
  const opj_image_t& image = reader.image();
  const bool same = int64_t{image.y1} - image.y0 == header.height &&
                    int64_t{image.x1} - image.x0 == header.width &&
                    image.numcomps == static_cast<uint32_t>(header.channels) &&
                    (bits_of(image) > 8) == (header.dtype == DType::u16);
  if (!same) return corrupt("damaged JPEG 2000: two different headers");
  HEADRACE_TRY(check_kind(image));
  if (scratch.is_stopped()) return stopped();
  const Scratch::Mark mark = scratch.mark();
  const auto width = static_cast<size_t>(part.w);
  const auto row = scratch.take<uint8_t>(width * 4), rgb = scratch.take<uint8_t>(width * 3);
  if (row.empty() || rgb.empty()) return scratch.over_budget(width * 7, "a row of a JPEG 2000");
  const Pixels pixels{header, row, rgb, out, row_stride, decoded_channels(header, color), is_ycc(image)};
  const Status status = decode_samples(reader, bytes, part, pixels, scratch);
  scratch.reset(mark);
  return status;
}

Status decode_stored_jpeg2000(Bytes bytes, const ImageHeader& header, const Box& part, std::byte* out,
                              size_t row_stride, Scratch& scratch) {
  return decode_jpeg2000(bytes, header, Color::unchanged, part, reinterpret_cast<uint8_t*>(out), row_stride,
                         scratch);
}

const CodecRegistration registered({.name = "JPEG 2000",
                                    .library = "openjpeg",
                                    .endings = {".jp2", ".j2k", ".jpx", ".jpf"},
                                    .recognise = is_jpeg2000,
                                    .read_header = read_jpeg2000_header,
                                    .decode = decode_jpeg2000,
                                    .decode_stored = decode_stored_jpeg2000});

}  // namespace
}  // namespace headrace
