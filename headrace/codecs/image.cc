#include "headrace/codecs/image.h"

#include <algorithm>
#include <array>
#include <string>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/decoded_by.h"

namespace headrace {
namespace {

using Bytes = std::span<const std::byte>;

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The first bytes for a message: 'hell…' when they are text, else "bytes 00 01 fe ff".
std::string beginning(Bytes bytes) {
  const std::string_view head = text_of(bytes).substr(0, 4);
  if (std::all_of(head.begin(), head.end(), [](char c) { return c >= ' ' && c <= '~'; }))
    return std::string(1, '\'').append(head).append(bytes.size() > head.size() ? "…'" : "'");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "bytes";
  for (const char c : head) {
    const auto byte = static_cast<uint8_t>(c);
    out += {' ', digits[byte >> 4], digits[byte & 15]};
  }
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
    return {Code::unavailable, "expected an image of a format that this build supports (" +
                                   names_of_codecs() + "), got " + std::string(name)};
  return corrupt("not an image (starts with " + beginning(bytes) + ")");
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

thread_local std::string_view decoded_by;

}  // namespace

void set_decoded_by(std::string_view decoder) { decoded_by = decoder; }
std::string_view take_decoded_by() { return std::exchange(decoded_by, {}); }

std::string_view image_format_name(const ImageHeader& header) { return header.codec->name; }

Result<ImageHeader> read_image_header(Bytes bytes) {
  HEADRACE_ASSIGN(const ImageHeader header, read_header_of_any_format(bytes));
  const std::string size = std::to_string(header.height) + " x " + std::to_string(header.width);
  if (header.height < 1 || header.width < 1) return corrupt("an image without pixels: " + size);
  if (std::max(header.height, header.width) > kMaxImageSide)
    return corrupt("expected sides of at most " + std::to_string(kMaxImageSide) + " pixels, got " + size);
  if (header.height * header.width > kMaxImagePixels)
    return corrupt("expected at most " + std::to_string(kMaxImagePixels) + " pixels, got " + size);
  return header;
}

Status check_color(const ImageHeader& header, Color color) {
  if (color != Color::index || header.has_indexes) return {};
  constexpr std::array<std::string_view, 5> kinds{"", "grey", "grey and alpha", "RGB", "RGBA"};
  const auto channels = static_cast<size_t>(header.channels);
  return {Code::unavailable,
          "color=\"index\" needs an image with a palette, or a grey PNG or TIFF of up to 8 bits, got " +
              std::string(image_format_name(header)) + " of " +
              std::string(header.is_cmyk ? "CMYK" : kinds[channels]) + " with " +
              std::to_string(header.bit_depth) + " bits a channel"};
}

Status decode_image(Bytes bytes, const ImageHeader& header, Color color, const Box& part, uint8_t* out,
                    size_t row_stride, Scratch& scratch) {
  HEADRACE_TRY(check_color(header, color));
  // Codecs write to the place of the part, so a wrong part is caught here.
  if (part.within(header.height, header.width) != part)
    return internal_error("expected a part of the image, got one that exceeds it");
  set_decoded_by(header.codec->library);
  return header.codec->decode(bytes, header, color, part, out, row_stride, scratch);
}

}  // namespace headrace
