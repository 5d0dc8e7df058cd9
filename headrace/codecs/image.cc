#include "headrace/codecs/image.h"

#include <algorithm>
#include <array>
#include <string>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/color.h"
#include "headrace/core/stop_flag.h"
#include "headrace/core/text/hex.h"

namespace headrace {
namespace {

using Bytes = std::span<const std::byte>;

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The first bytes for a message: 'hell…' when they are text, else "bytes 00 01 fe ff".
std::string beginning(Bytes bytes) {
  const std::string_view head = text_of(bytes).substr(0, 4);
  if (std::all_of(head.begin(), head.end(), [](char c) { return c >= ' ' && c <= '~'; }))
    return std::string(1, '\'').append(head).append(bytes.size() > head.size() ? "…'" : "'");
  std::string out = "bytes";
  for (const char c : head) out += " " + hex_of(std::byte(c));
  return out;
}

// Image formats that exist but may not be supported by this build: better named than called "not an image".
std::string_view unread_format(Bytes bytes) {
  struct Magic {
    size_t offset;
    std::string_view bytes, name;
  };
  constexpr std::array magics{Magic{0, "GIF8", "GIF"},
                              Magic{8, "WEBP", "WebP"},
                              Magic{0, "BM", "BMP"},
                              Magic{0, {"II*\0", 4}, "TIFF"},
                              Magic{0, {"MM\0*", 4}, "TIFF"},
                              Magic{4, "jP  ", "JPEG 2000"},
                              Magic{0, "\xff\x4f\xff\x51", "JPEG 2000"},
                              Magic{4, "ftypavif", "AVIF"},
                              Magic{4, "ftypavis", "AVIF"},
                              Magic{4, "ftyphe", "HEIF"},
                              Magic{4, "ftypmif1", "HEIF"},
                              Magic{0, "P7\n", "PAM"},
                              Magic{0, "II\xbc", "JPEG XR"},
                              Magic{4, "JXL ", "JPEG XL"},
                              Magic{0, "\xff\x0a", "JPEG XL"}};
  for (const Magic& magic : magics)
    if (bytes.size() > magic.offset && text_of(bytes.subspan(magic.offset)).starts_with(magic.bytes))
      return magic.name;
  return {};
}

std::string names_of_codecs() {
  std::string names;
  for (const auto& [name, _] : image_codecs()) names.append(names.empty() ? "" : ", ").append(name);
  return names;
}

Status not_readable(Bytes bytes) {
  if (bytes.empty()) return corrupt("not an image (0 bytes)");
  if (const std::string_view name = unread_format(bytes); !name.empty())
    return {Code::unavailable,
            Mismatch{.expected = "an image of a format that this build supports (" + names_of_codecs() + ")",
                     .got = std::string(name)}};
  return corrupt("not an image (starts with " + beginning(bytes) + ")").with({.got = beginning(bytes)});
}

Result<ImageHeader> read_header_of_any_format(Bytes bytes) {
  for (const auto& [_, codec] : image_codecs()) {
    if (!codec.recognise(bytes)) continue;
    HEADRACE_ASSIGN(ImageHeader header, codec.read_header(bytes));
    header.codec = &codec;
    return header;
  }
  return not_readable(bytes);
}

// The samples of an image whose dtype is not u8, for the rows of `part`.
struct Stored {
  const ImageHeader& header;
  std::span<std::byte> samples;
  size_t row_bytes;
  const std::byte* at(int64_t y, int64_t x) const {
    return samples.data() + static_cast<size_t>(y) * row_bytes +
           static_cast<size_t>(x * header.channels) * size_of(header.dtype);
  }
};

Result<Stored> stored_samples(Bytes bytes, const ImageHeader& header, const Box& part, Scratch& scratch) {
  const size_t row = static_cast<size_t>(header.width * header.channels) * size_of(header.dtype),
               size = row * static_cast<size_t>(header.height);
  const auto samples = scratch.take(size);
  if (samples.empty()) return scratch.over_budget(size, "samples of an image");
  HEADRACE_TRY(header.codec->decode_stored(bytes, header, part, samples.data(), row, scratch));
  return Stored{header, samples, row};
}

// Pixels of 8 bits to the requested channels.
void convert_narrow(const uint8_t* in, const ImageHeader& header, size_t count, uint8_t* rgb, uint8_t* out,
                    int channels) {
  if (!header.is_cmyk || channels == 4) return convert_channels(in, header.channels, count, out, channels);
  cmyk_to_rgb(in, count, rgb);
  convert_channels(rgb, 3, count, out, channels);
}

Status decode_narrowed(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                       size_t row_stride, Scratch& scratch) {
  const int channels = decoded_channels(header, color);
  const auto width = static_cast<size_t>(part.w), samples = width * static_cast<size_t>(header.channels);
  HEADRACE_ASSIGN(const Stored stored, stored_samples(bytes, header, part, scratch));
  const auto narrow = scratch.take<uint8_t>(samples), rgb = scratch.take<uint8_t>(width * 3);
  if (narrow.empty() || rgb.empty()) return scratch.over_budget(samples + width * 3, "a row of an image");
  for (int64_t y = part.y; y < part.bottom(); ++y) {
    if (scratch.is_stopped()) return stopped();
    const std::byte* in = stored.at(y, part.x);
    if (header.dtype == DType::u16)
      narrow_samples(reinterpret_cast<const uint16_t*>(in), samples, header.most, narrow.data());
    else
      narrow_samples(reinterpret_cast<const float*>(in), samples, narrow.data());
    convert_narrow(narrow.data(), header, width, rgb.data(),
                   out + static_cast<size_t>(y) * row_stride + part.x * channels, channels);
  }
  return {};
}

Status decode_wide(Bytes bytes, const ImageHeader& header, Color color, const Box& part, std::byte* out,
                   size_t row_stride, Scratch& scratch) {
  const int channels = decoded_channels(header, color);
  if (channels == header.channels)
    return header.codec->decode_stored(bytes, header, part, out, row_stride, scratch);
  const auto width = static_cast<size_t>(part.w);
  HEADRACE_ASSIGN(const Stored stored, stored_samples(bytes, header, part, scratch));
  const auto rgb = scratch.take<uint16_t>(width * 3);
  if (rgb.empty()) return scratch.over_budget(width * 6, "a row of an image");
  for (int64_t y = part.y; y < part.bottom(); ++y) {
    if (scratch.is_stopped()) return stopped();
    const std::byte* in = stored.at(y, part.x);
    std::byte* to = out + static_cast<size_t>(y) * row_stride +
                    static_cast<size_t>(part.x * channels) * size_of(header.dtype);
    const auto* numbers = reinterpret_cast<const uint16_t*>(in);
    if (header.dtype == DType::f32) {
      convert_channels(reinterpret_cast<const float*>(in), header.channels, width,
                       reinterpret_cast<float*>(to), channels);
    } else if (header.is_cmyk) {
      cmyk_to_rgb(numbers, width, rgb.data(), header.most);
      convert_channels(rgb.data(), 3, width, reinterpret_cast<uint16_t*>(to), channels);
    } else {
      convert_channels(numbers, header.channels, width, reinterpret_cast<uint16_t*>(to), channels);
    }
  }
  return {};
}

// Numbers of up to 8 bits as uint16.
Status decode_widened(Bytes bytes, const ImageHeader& header, Color color, const Box& part, std::byte* out,
                      size_t row_stride, Scratch& scratch, std::string_view& decoder) {
  const auto row = static_cast<size_t>(header.width), size = row * static_cast<size_t>(header.height);
  const auto numbers = scratch.take<uint8_t>(size);
  if (numbers.empty()) return scratch.over_budget(size, "numbers of an image");
  HEADRACE_TRY(header.codec->decode(bytes, header, color, part, numbers.data(), row, scratch, decoder));
  for (int64_t y = part.y; y < part.bottom(); ++y)
    std::copy_n(numbers.data() + static_cast<size_t>(y) * row + part.x, part.w,
                reinterpret_cast<uint16_t*>(out + static_cast<size_t>(y) * row_stride) + part.x);
  return {};
}

Status check_part(const ImageHeader& header, Color color, const Box& part) {
  HEADRACE_TRY(check_color(header, color));
  // Codecs write to the place of the part, so a wrong part is caught here.
  if (part.within(header.height, header.width) != part)
    return internal_error("expected a part of the image, got one that exceeds it");
  return {};
}

}  // namespace

std::string_view image_format_name(const ImageHeader& header) { return header.codec->name; }

Result<ImageHeader> read_image_header(Bytes bytes) {
  HEADRACE_ASSIGN(const ImageHeader header, read_header_of_any_format(bytes));
  const std::string size = std::to_string(header.height) + " x " + std::to_string(header.width);
  if (header.height < 1 || header.width < 1) return corrupt("an image without pixels: " + size);
  if (std::max(header.height, header.width) > kMaxImageSide)
    return corrupt(
        {.expected = "sides of at most " + std::to_string(kMaxImageSide) + " pixels", .got = size});
  if (header.height * header.width > kMaxImagePixels)
    return corrupt({.expected = "at most " + std::to_string(kMaxImagePixels) + " pixels", .got = size});
  return header;
}

Status check_color(const ImageHeader& header, Color color) {
  if (color != Color::index || header.has_indexes) return {};
  constexpr std::array<std::string_view, 5> kinds{"", "grey", "grey and alpha", "RGB", "RGBA"};
  const auto channels = static_cast<size_t>(header.channels);
  return {Code::unavailable,
          "color=\"index\" needs an image with a palette, or a grey PNG, TIFF or PNM, got " +
              std::string(image_format_name(header)) + " of " +
              std::string(header.is_cmyk ? "CMYK" : kinds[channels]) + " with " +
              std::to_string(header.bit_depth) + " bits a channel"};
}

bool gives_samples(const ImageHeader& header, Color color, DType dtype) {
  return dtype == DType::u8 || dtype == header.dtype ||
         (dtype == DType::u16 && header.dtype == DType::u8 && color == Color::index);
}

Status decode_image(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                    size_t row_stride, Scratch& scratch, std::string_view* decoder) {
  HEADRACE_TRY(check_part(header, color, part));
  std::string_view unasked;
  std::string_view& by = decoder ? *decoder : unasked;
  by = header.codec->library;
  if (header.dtype == DType::u8)
    return header.codec->decode(bytes, header, color, part, out, row_stride, scratch, by);
  const Scratch::Mark mark = scratch.mark();
  const Status status = decode_narrowed(bytes, header, color, part, out, row_stride, scratch);
  scratch.reset(mark);
  return status;
}

Status decode_samples(Bytes bytes, const ImageHeader& header, Color color, DType dtype, const Box& part,
                      std::byte* out, size_t row_stride, Scratch& scratch, std::string_view* decoder) {
  if (dtype == DType::u8)
    return decode_image(bytes, header, color, part, reinterpret_cast<uint8_t*>(out), row_stride, scratch,
                        decoder);
  HEADRACE_TRY(check_part(header, color, part));
  if (!gives_samples(header, color, dtype))
    return internal_error("expected a dtype that the image has, got " + std::string(dtype_name(dtype)));
  std::string_view unasked;
  std::string_view& by = decoder ? *decoder : unasked;
  by = header.codec->library;
  const Scratch::Mark mark = scratch.mark();
  const Status status = header.dtype == DType::u8
                            ? decode_widened(bytes, header, color, part, out, row_stride, scratch, by)
                            : decode_wide(bytes, header, color, part, out, row_stride, scratch);
  scratch.reset(mark);
  return status;
}

}  // namespace headrace
