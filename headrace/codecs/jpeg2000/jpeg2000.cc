// JPEG 2000 through openjpeg: code streams and JP2 files of one to four components, of up to 16 bits.
#include <openjpeg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/color.h"
#include "headrace/codecs/jpeg2000/container.h"
#include "headrace/codecs/library_memory.h"
#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

using Bytes = std::span<const std::byte>;

using namespace jpeg2000;

bool is_jpeg2000(Bytes bytes) { return is_code_stream(bytes) || is_container(bytes); }

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

// One code stream in openjpeg. One thread.
class Reader {
 public:
  explicit Reader(Bytes code_stream) : input_{code_stream} {}

  Status read_header() {
    stream_.reset(opj_stream_default_create(OPJ_TRUE));
    codec_.reset(opj_create_decompress(OPJ_CODEC_J2K));
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

// The image is at x0, y0 of a grid; a component has every dx-th sample of it. Where all have the same ones,
// that is only a coarser grid.
bool is_subsampled(const opj_image_t& image) {
  return std::any_of(image.comps, image.comps + image.numcomps, [&](const opj_image_comp_t& c) {
    return c.dx != image.comps[0].dx || c.dy != image.comps[0].dy;
  });
}

bool is_coarse(const opj_image_t& image) { return image.comps[0].dx != 1 || image.comps[0].dy != 1; }

// Samples from x0 to x1 of the grid at every `step`-th place.
int64_t samples_between(uint32_t x0, uint32_t x1, uint32_t step) {
  const auto up = [&](uint32_t x) { return (int64_t{x} + step - 1) / step; };
  return up(x1) - up(x0);
}

int bits_of(const opj_image_t& image) {
  uint32_t most = 0;
  for (uint32_t c = 0; c < image.numcomps; ++c) most = std::max(most, image.comps[c].prec);
  return static_cast<int>(most);
}

// Only the two chroma components of YCbCr may be smaller than the others. Without a word on colours, or with
// a wrong one, such components are taken for that, as by opj_decompress.
bool is_ycc(const opj_image_t& image, Space space) {
  if (image.numcomps < 3) return false;
  return space == Space::ycc || (image.numcomps == 3 && space != Space::cmyk && is_subsampled(image));
}

bool has_small_chroma(const opj_image_t& image, const std::array<uint32_t, 4>& order) {
  const auto is_whole = [&](uint32_t c) {
    return image.comps[order[c]].dx == 1 && image.comps[order[c]].dy == 1;
  };
  const opj_image_comp_t &cb = image.comps[order[1]], &cr = image.comps[order[2]];
  return is_whole(0) && (image.numcomps < 4 || is_whole(3)) && cb.dx == cr.dx && cb.dy == cr.dy;
}

Status check_kind(const opj_image_t& image, const Container& container) {
  const auto unavailable = [](const std::string& text) { return Status(Code::unavailable, text); };
  if (image.numcomps < 1 || image.numcomps > 4)
    return unavailable("expected a JPEG 2000 of 1 to 4 components, got " + std::to_string(image.numcomps));
  HEADRACE_ASSIGN(const auto order, order_of_components(container, image.numcomps));
  for (uint32_t c = 0; c < image.numcomps; ++c)
    if (image.comps[c].dx < 1 || image.comps[c].dy < 1)
      return corrupt("damaged JPEG 2000: a component without samples");
  if (is_subsampled(image) && !(is_ycc(image, container.space) && has_small_chroma(image, order)))
    return unavailable("expected a JPEG 2000 whose components have one size, or YCbCr with smaller chroma");
  for (uint32_t c = 0; c < image.numcomps; ++c)
    if (image.comps[c].prec < 1 || image.comps[c].prec > 16)
      return unavailable("expected a JPEG 2000 of up to 16 bits, got " + std::to_string(image.comps[c].prec));
  for (uint32_t c = 0; c < image.numcomps && bits_of(image) > 8; ++c)
    if (image.comps[c].sgnd || static_cast<int>(image.comps[c].prec) != bits_of(image))
      return unavailable(
          "expected a JPEG 2000 of more than 8 bits to have unsigned components of equally many");
  return {};
}

int64_t height_of(const opj_image_t& image) {
  return samples_between(image.y0, image.y1, is_subsampled(image) ? 1 : image.comps[0].dy);
}
int64_t width_of(const opj_image_t& image) {
  return samples_between(image.x0, image.x1, is_subsampled(image) ? 1 : image.comps[0].dx);
}

Result<ImageHeader> read_jpeg2000_header(Bytes bytes) {
  HEADRACE_ASSIGN(const Container container, read_container(bytes));
  Reader reader(container.code_stream);
  HEADRACE_TRY(reader.read_header());
  const opj_image_t& image = reader.image();
  HEADRACE_TRY(check_kind(image, container));
  return ImageHeader{.height = height_of(image),
                     .width = width_of(image),
                     .channels = static_cast<int>(image.numcomps),
                     .is_cmyk = container.space == Space::cmyk,
                     .bit_depth = bits_of(image) > 8 ? bits_of(image) : static_cast<int>(image.comps[0].prec),
                     .dtype = bits_of(image) > 8 ? DType::u16 : DType::u8,
                     .most = static_cast<uint16_t>((1 << std::max(bits_of(image), 8)) - 1)};
}

// Where the pixels of an image come from.
struct Channels {
  std::array<uint32_t, 4> order{};
  bool is_ycc = false, is_subsampled = false;
  uint32_t y0 = 0, x0 = 0;  // of the image on its grid
};

// The place among every `step`-th of the grid whose sample covers the place `at` of an image that begins at
// `from`.
int64_t covering(int64_t at, uint32_t from, uint32_t step, uint32_t count) {
  const int64_t first = (int64_t{from} + step - 1) / step;
  return std::clamp<int64_t>((at + from) / step - first, 0, int64_t{count} - 1);
}

// Sample (y, x) of the image; missing samples of a component repeat its last ones.
int64_t stored_sample(const opj_image_comp_t& component, const Channels& channels, int64_t y, int64_t x) {
  const bool is_small = channels.is_subsampled;
  const int64_t row = is_small ? covering(y, channels.y0, component.dy, component.h)
                               : std::min<int64_t>(y, component.h - 1),
                column = is_small ? covering(x, channels.x0, component.dx, component.w)
                                  : std::min<int64_t>(x, component.w - 1);
  return component.data[row * component.w + column];
}

// The same of up to 8 bits, in 8.
uint8_t sample(const opj_image_comp_t& component, const Channels& channels, int64_t y, int64_t x) {
  const int precision = static_cast<int>(component.prec);
  int64_t value = stored_sample(component, channels, y, x);
  if (component.sgnd) value += int64_t{1} << (precision - 1);
  const int64_t most = (int64_t{1} << precision) - 1;
  return static_cast<uint8_t>(std::clamp<int64_t>((value * 255 + most / 2) / most, 0, 255));
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
void fill_row(const opj_image_t& image, const Channels& channels, int64_t y, int64_t x, int64_t width,
              uint8_t* out) {
  for (const int64_t right = x + width; x < right; ++x, out += image.numcomps) {
    for (uint32_t c = 0; c < image.numcomps; ++c)
      out[c] = sample(image.comps[channels.order[c]], channels, y, x);
    if (channels.is_ycc) ycc_to_rgb(out, 255);
  }
}

// The same of more than 8 bits.
void fill_wide_row(const opj_image_t& image, const Channels& channels, int64_t y, int64_t x, int64_t width,
                   int most, uint16_t* out) {
  for (const int64_t right = x + width; x < right; ++x, out += image.numcomps) {
    for (uint32_t c = 0; c < image.numcomps; ++c) {
      const int64_t value = stored_sample(image.comps[channels.order[c]], channels, y, x);
      out[c] = static_cast<uint16_t>(std::clamp<int64_t>(value, 0, most));
    }
    if (channels.is_ycc) ycc_to_rgb(out, most);
  }
}

// Where decoded samples go.
struct Pixels {
  const ImageHeader& header;
  std::span<uint8_t> row, rgb;  // a row of samples; one of RGB
  uint8_t* out;
  size_t row_stride;
  int channels;
  Channels from;

  // The part of the whole image, of which `image` holds the region from `held` on.
  Status write(const opj_image_t& image, const Box& held, const Box& part, const Scratch& scratch) const {
    const auto width = static_cast<size_t>(part.w);
    for (int64_t y = part.y; y < part.bottom(); ++y) {
      if (scratch.is_stopped()) return stopped();
      if (header.dtype == DType::u16) {
        auto* const wide = reinterpret_cast<uint16_t*>(out + static_cast<size_t>(y) * row_stride);
        fill_wide_row(image, from, y - held.y, part.x - held.x, part.w, header.most,
                      wide + part.x * header.channels);
        continue;
      }
      uint8_t* const to = out + static_cast<size_t>(y) * row_stride + part.x * channels;
      fill_row(image, from, y - held.y, part.x - held.x, part.w, row.data());
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

Status decode_samples(Reader& reader, size_t file, const Box& part, const Pixels& pixels, Scratch& scratch) {
  const opj_image_t& image = reader.image();
  const auto area = static_cast<size_t>(pixels.header.height * pixels.header.width);
  const Reader::Tiles tiles = reader.tiles();
  // With subsampling, a pixel at a tile boundary needs samples of two tiles.
  const bool by_tiles = tiles.rows * tiles.columns > 1 && !is_subsampled(image) && !is_coarse(image);
  const int64_t tile_height = std::min(tiles.height, pixels.header.height),
                tile_width = std::min(tiles.width, pixels.header.width);
  const size_t tile = by_tiles ? static_cast<size_t>(tile_height * tile_width) : area;
  LibraryMemory memory(scratch);
  if (!memory.expect(bytes_within_openjpeg(image, tile, by_tiles ? 0 : area, file)))
    return memory.over_budget("a JPEG 2000 decoder");
  if (by_tiles) return decode_tiles(reader, tiles, part, pixels, scratch);
  HEADRACE_TRY(reader.decode());
  return pixels.write(image, pixels.header.whole(), part, scratch);
}

Status decode_jpeg2000(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                       size_t row_stride, Scratch& scratch, std::string_view&) {
  HEADRACE_ASSIGN(const Container container, read_container(bytes));
  Reader reader(container.code_stream);
  HEADRACE_TRY(reader.read_header());
  const opj_image_t& image = reader.image();
  HEADRACE_TRY(check_kind(image, container));
  const bool same = height_of(image) == header.height && width_of(image) == header.width &&
                    image.numcomps == static_cast<uint32_t>(header.channels) &&
                    (bits_of(image) > 8) == (header.dtype == DType::u16);
  if (!same) return corrupt("damaged JPEG 2000: two different headers");
  Channels from{{}, is_ycc(image, container.space), is_subsampled(image), image.y0, image.x0};
  HEADRACE_ASSIGN(from.order, order_of_components(container, image.numcomps));
  if (scratch.is_stopped()) return stopped();
  const Scratch::Mark mark = scratch.mark();
  const auto width = static_cast<size_t>(part.w);
  const auto row = scratch.take<uint8_t>(width * 4), rgb = scratch.take<uint8_t>(width * 3);
  if (row.empty() || rgb.empty()) return scratch.over_budget(width * 7, "a row of a JPEG 2000");
  const Pixels pixels{header, row, rgb, out, row_stride, decoded_channels(header, color), from};
  const Status status = decode_samples(reader, bytes.size(), part, pixels, scratch);
  scratch.reset(mark);
  return status;
}

Status decode_stored_jpeg2000(Bytes bytes, const ImageHeader& header, const Box& part, std::byte* out,
                              size_t row_stride, Scratch& scratch) {
  std::string_view decoder;  // always the library
  return decode_jpeg2000(bytes, header, Color::unchanged, part, reinterpret_cast<uint8_t*>(out), row_stride,
                         scratch, decoder);
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
