// PNG files: plain ones by direct_rows.cc, all others by libspng.
#include <spng.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/color.h"
#include "headrace/codecs/png/direct_rows.h"
#include "headrace/codecs/png/png.h"
#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

using png::Bytes;

constexpr std::string_view kOwnDecoder = "headrace (plain PNG)";

constexpr size_t kMaxChunk = 64 << 20, kMaxCachedChunks = 128 << 20;  // ancillary data: profiles, texts

struct FreeContext {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};
using Context = std::unique_ptr<spng_ctx, FreeContext>;

using ConvertRow = void (*)(const uint8_t* in, size_t count, uint8_t* out);

// Numbers of 1, 2 or 4 bits, the first in the high bits, one byte each.
template <int kBits> void unpack_indexes(const uint8_t* in, size_t count, uint8_t* out) {
  constexpr size_t kPerByte = 8 / kBits;
  for (size_t i = 0; i < count; ++i)
    out[i] = static_cast<uint8_t>(in[i / kPerByte] >> (8 - kBits * (i % kPerByte + 1)) & ((1 << kBits) - 1));
}

// RGBA of a grey image with a transparent number.
void wide_gray_alpha(const uint8_t* in, size_t count, uint8_t* out) {
  for (size_t i = 0; i < count; ++i, in += 8, out += 4) {
    std::memcpy(out, in, 2);
    std::memcpy(out + 2, in + 6, 2);
  }
}

ConvertRow unpack_of(int bits) {
  return bits == 1   ? unpack_indexes<1>
         : bits == 2 ? unpack_indexes<2>
         : bits == 4 ? unpack_indexes<4>
                     : nullptr;
}

// What libspng is asked for, and how its rows become the requested ones (null: they already are).
struct Recipe {
  spng_format format;
  size_t pixel_bits;
  int flags;
  ConvertRow convert;
};

// Samples of 16 bits, in the machine's byte order. A transparent colour becomes alpha.
Recipe recipe_of_stored(const ImageHeader& header, uint64_t samples) {
  const auto channels = static_cast<size_t>(header.channels);
  if (channels == samples) return {SPNG_FMT_PNG, 16 * channels, 0, nullptr};
  return {SPNG_FMT_RGBA16, 64, SPNG_DECODE_TRNS, channels == 2 ? wide_gray_alpha : nullptr};
}

// libspng decodes everything to RGB or RGBA of 8 bits, but not everything to grey.
Recipe recipe_for(const spng_ihdr& ihdr, const ImageHeader& header, Color color) {
  const bool is_gray =
      ihdr.color_type == SPNG_COLOR_TYPE_GRAYSCALE || ihdr.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA;
  const int channels = decoded_channels(header, color);
  if (color == Color::index) return {SPNG_FMT_RAW, ihdr.bit_depth, 0, unpack_of(ihdr.bit_depth)};
  if (channels == 4) return {SPNG_FMT_RGBA8, 32, SPNG_DECODE_TRNS, nullptr};
  if (channels == 3) return {SPNG_FMT_RGB8, 24, 0, nullptr};
  if (channels == 2) return {SPNG_FMT_RGBA8, 32, SPNG_DECODE_TRNS, rgba_to_gray_alpha};
  if (ihdr.color_type == SPNG_COLOR_TYPE_GRAYSCALE) return {SPNG_FMT_G8, 8, 0, nullptr};
  return {SPNG_FMT_RGB8, 24, 0, is_gray ? first_of_three : rgb_to_gray};
}

Status from_spng(int error) {
  switch (error) {
    case SPNG_OK: return {};
    case SPNG_EOF:
    case SPNG_IO_EOF:
    case SPNG_EIDAT_TOO_SHORT: return corrupt("truncated PNG: " + std::string(spng_strerror(error)));
    case SPNG_EMEM: return {Code::exhausted, "PNG needs too much memory"};
    default: return corrupt("damaged PNG: " + std::string(spng_strerror(error)));
  }
}

// What libspng reads: a file as it is, or one whose checksums are already verified, or not all valid.
struct Input {
  Bytes file;
  png::Spliced* verified = nullptr;
};

int read_spliced(spng_ctx*, void* from, void* to, size_t size) {
  return static_cast<png::Spliced*>(from)->read(static_cast<std::byte*>(to), size) == size ? SPNG_OK
                                                                                           : SPNG_IO_EOF;
}

Result<Context> open(const Input& input, spng_ihdr& ihdr) {
  Context context(spng_ctx_new(input.verified ? SPNG_CTX_IGNORE_ADLER32 : 0));
  if (!context) return Status(Code::exhausted, "out of memory for a PNG decoder");
  const int checksums = input.verified ? SPNG_CRC_USE : SPNG_CRC_ERROR;
  HEADRACE_TRY(from_spng(spng_set_crc_action(context.get(), checksums, checksums)));
  HEADRACE_TRY(from_spng(spng_set_chunk_limits(context.get(), kMaxChunk, kMaxCachedChunks)));
  HEADRACE_TRY(from_spng(spng_set_image_limits(context.get(), kMaxImageSide, kMaxImageSide)));
  HEADRACE_TRY(from_spng(input.verified
                             ? spng_set_png_stream(context.get(), read_spliced, input.verified)
                             : spng_set_png_buffer(context.get(), input.file.data(), input.file.size())));
  HEADRACE_TRY(from_spng(spng_get_ihdr(context.get(), &ihdr)));
  return context;
}

// Chunks after the pixels must be valid, but a file that lacks only its end marker is whole, as with JPEG.
Status check_chunks(spng_ctx* context) {
  const int error = spng_decode_chunks(context);
  return error == SPNG_IO_EOF ? Status() : from_spng(error);
}

// Rows of an interlaced image come several times, each time with more of their pixels: `row_of` must keep
// them.
template <class RowOf, class Finish>
Status decode_rows(spng_ctx* context, size_t row_size, const Scratch& scratch, RowOf row_of, Finish finish) {
  for (;;) {
    if (scratch.is_stopped()) return stopped();
    spng_row_info info;
    int error = spng_get_row_info(context, &info);
    if (error == SPNG_EOI) return {};
    if (error) return from_spng(error);
    error = spng_decode_row(context, row_of(info.row_num), row_size);
    if (error && error != SPNG_EOI) return from_spng(error);
    finish(info.row_num);
  }
}

// Without a colour: the samples as they are stored, of 16 bits.
Status decode(const Input& input, const ImageHeader& header, std::optional<Color> color, uint8_t* out,
              size_t row_stride, Scratch& scratch) {
  spng_ihdr ihdr;
  HEADRACE_ASSIGN(const Context context, open(input, ihdr));
  const bool is_wide = ihdr.bit_depth == 16;
  if (ihdr.height != header.height || ihdr.width != header.width || is_wide == color.has_value())
    return corrupt("damaged PNG: two different headers");
  const uint64_t samples = png::Ihdr{.kind = ihdr.color_type}.samples();
  const Recipe recipe = color ? recipe_for(ihdr, header, *color) : recipe_of_stored(header, samples);
  HEADRACE_TRY(from_spng(
      spng_decode_image(context.get(), nullptr, 0, recipe.format, recipe.flags | SPNG_DECODE_PROGRESSIVE)));
  const size_t width = ihdr.width, row_size = (width * recipe.pixel_bits + 7) / 8;
  if (!recipe.convert) {
    HEADRACE_TRY(decode_rows(
        context.get(), row_size, scratch, [&](size_t row) { return out + row * row_stride; }, [](size_t) {}));
  } else {
    const bool interlaced = ihdr.interlace_method != SPNG_INTERLACE_NONE;
    const size_t wanted = row_size * (interlaced ? ihdr.height : 1);
    uint8_t* const rows = scratch.take<uint8_t>(wanted).data();
    if (!rows) return scratch.over_budget(wanted, "rows of a PNG");
    // The passes of an interlaced image are ORed together where samples share a byte.
    if (interlaced && recipe.pixel_bits < 8) std::memset(rows, 0, wanted);
    const auto row_of = [&](size_t row) { return interlaced ? rows + row * row_size : rows; };
    HEADRACE_TRY(decode_rows(context.get(), row_size, scratch, row_of, [&](size_t row) {
      recipe.convert(row_of(row), width, out + row * row_stride);
    }));
  }
  return check_chunks(context.get());
}

// Whether libspng accepts all of the file but its pixels: what it refuses is refused.
bool is_sound(const png::Inflated& inflated) {
  png::Spliced file = inflated.with_one_pixel();
  spng_ihdr ihdr;
  const auto context = open({{}, &file}, ihdr);
  uint8_t pixel[8];
  return context.ok() && spng_decode_image(context->get(), pixel, sizeof pixel, SPNG_FMT_RAW, 0) == SPNG_OK &&
         check_chunks(context->get()).ok();
}

// False where it cannot be inflated as a whole.
Result<bool> decode_inflated(Bytes bytes, const ImageHeader& header, std::optional<Color> color,
                             const Box& part, uint8_t* out, size_t row_stride, Scratch& scratch,
                             std::string_view& decoder) {
  png::Inflated inflated(scratch);
  HEADRACE_ASSIGN(const bool is_inflated, inflated.read(bytes));
  if (!is_inflated) return false;
  const png::Ihdr ihdr = png::ihdr_of(bytes);
  if (color && png::is_plain(ihdr, header, *color) && is_sound(inflated)) {
    HEADRACE_ASSIGN(const bool done,
                    png::decode_rows(ihdr, inflated, header, *color, part, out, row_stride, scratch));
    if (done) {
      decoder = kOwnDecoder;
      return true;
    }
  }
  png::Spliced stored = inflated.stored();
  HEADRACE_TRY(decode({{}, &stored}, header, color, out, row_stride, scratch));
  return true;
}

// Without memory for all pixels they are inflated row by row. Both ways give the same pixels, but zlib
// refuses some streams that libdeflate accepts: such a refusal is reported as a lack of memory, so that
// acceptance of a file does not depend on other work in progress.
Status decode_in_either_way(Bytes bytes, const ImageHeader& header, std::optional<Color> color,
                            const Box& part, uint8_t* out, size_t row_stride, Scratch& scratch,
                            std::string_view& decoder) {
  const Scratch::Mark mark = scratch.mark();
  const auto inflated = decode_inflated(bytes, header, color, part, out, row_stride, scratch, decoder);
  scratch.reset(mark);
  const bool lacks_memory = inflated.status().code() == Code::exhausted;
  if (inflated.ok() ? *inflated : !lacks_memory) return inflated.status();
  const Status by_row = decode({bytes, nullptr}, header, color, out, row_stride, scratch);
  scratch.reset(mark);
  return lacks_memory && by_row.code() == Code::corrupt ? inflated.status() : by_row;
}

Status decode_stored_png(Bytes bytes, const ImageHeader& header, const Box& part, std::byte* out,
                         size_t row_stride, Scratch& scratch) {
  std::string_view decoder;  // of stored samples, always the library
  return decode_in_either_way(bytes, header, std::nullopt, part, reinterpret_cast<uint8_t*>(out), row_stride,
                              scratch, decoder);
}

}  // namespace

Status decode_png(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                  size_t row_stride, Scratch& scratch, std::string_view& decoder) {
  return decode_in_either_way(bytes, header, color, part, out, row_stride, scratch, decoder);
}

namespace {
const CodecRegistration registered({.name = "PNG",
                                    .library = "libspng",
                                    .endings = {".png"},
                                    .recognise = is_png,
                                    .read_header = read_png_header,
                                    .decode = decode_png,
                                    .decode_stored = decode_stored_png});
}  // namespace

}  // namespace headrace
