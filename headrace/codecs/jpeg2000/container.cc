#include "headrace/codecs/jpeg2000/container.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "headrace/codecs/fields.h"

namespace headrace::jpeg2000 {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kCodeStream = "\xff\x4f\xff\x51";
constexpr std::string_view kSignature{"\0\0\0\x0cjP  \r\n\x87\n", 12};
constexpr size_t kMostChannels = 64;

Status unavailable(const std::string& what) {
  return {Code::unavailable, Mismatch{.expected = "a JPEG 2000 of grey, RGB, sYCC or CMYK", .got = what}};
}

// Of ISO 15444-1 and 15444-2.
std::string name_of_space(uint64_t number) {
  switch (number) {
    case 0:
    case 15: return "a bi-level image";
    case 1: return "YCbCr of BT.709";
    case 3:
    case 4: return "YCbCr of BT.601";
    case 9: return "PhotoYCC";
    case 11: return "CMY";
    case 13: return "YCCK";
    case 14: return "CIELab";
    case 19: return "CIEJab";
    case 20: return "e-sRGB";
    case 21: return "ROMM-RGB";
    case 22:
    case 23: return "YPbPr";
    case 24: return "e-sYCC";
    default: return "the unknown colour space " + std::to_string(number);
  }
}

// Profiles are not applied, as of no format; but they say which colours the numbers are.
Result<Space> space_of_profile(Bytes profile) {
  if (profile.size() < 20)
    return corrupt("damaged JPEG 2000: a colour profile of " + std::to_string(profile.size()) + " bytes");
  const std::string_view space = characters_of(profile).substr(16, 4);
  if (space == "GRAY") return Space::gray;
  if (space == "RGB ") return Space::rgb;
  if (space == "CMYK") return Space::cmyk;
  const bool is_plain = std::ranges::all_of(space, [](char c) { return c >= ' ' && c <= '~'; });
  return unavailable("a colour profile of " +
                     (is_plain ? "'" + std::string(space) + "'" : std::string("an unknown kind")));
}

// Empty for a way to say it that a reader of JP2 passes over.
Result<std::optional<Space>> space_of(Bytes box) {
  if (box.size() < 3)
    return corrupt("damaged JPEG 2000: a colour box of " + std::to_string(box.size()) + " bytes");
  const uint64_t method = big_endian_at(box, 0, 1);
  if (method == 2 || method == 3) {
    HEADRACE_ASSIGN(const Space space, space_of_profile(box.subspan(3)));
    return std::optional(space);
  }
  if (method != 1) return std::optional<Space>();
  if (box.size() < 7)
    return corrupt("damaged JPEG 2000: a colour box of " + std::to_string(box.size()) + " bytes");
  switch (const uint64_t space = big_endian_at(box, 3, 4); space) {
    case 12: return std::optional(Space::cmyk);
    case 16: return std::optional(Space::rgb);
    case 17: return std::optional(Space::gray);
    case 18: return std::optional(Space::ycc);
    default: return unavailable(name_of_space(space));
  }
}

Result<std::vector<Channel>> channels_of(Bytes box) {
  const size_t count = box.size() < 2 ? 0 : big_endian_at(box, 0, 2);
  if (count == 0 || count > kMostChannels || box.size() - 2 < count * 6)
    return corrupt("damaged JPEG 2000: a box of channel definitions for " + std::to_string(count) +
                   " channels in " + std::to_string(box.size()) + " bytes");
  std::vector<Channel> out;
  for (size_t i = 0; i < count; ++i) {
    const auto field = [&](size_t at) {
      return static_cast<uint16_t>(big_endian_at(box, 2 + i * 6 + at, 2));
    };
    out.push_back({field(0), field(2), field(4)});
  }
  return out;
}

Status read_header_boxes(Bytes header, Container& out) {
  bool has_colour = false;
  std::optional<Space> space;
  Status unread;  // of the first colour box that is not supported
  while (const auto box = next_iso_box(header)) {
    if (box->kind == "pclr" || box->kind == "cmap")
      return {Code::unavailable, "a JPEG 2000 with a palette is not supported"};
    if (box->kind == "colr" && !space) {  // the first that can be read counts
      has_colour = true;
      auto found = space_of(box->content);
      if (found.ok())
        space = *found;
      else if (found.status().code() != Code::unavailable)
        return found.status();
      else if (unread.ok())
        unread = found.status();
    }
    if (box->kind == "cdef" && out.channels.empty()) {
      HEADRACE_ASSIGN(out.channels, channels_of(box->content));
    }
  }
  if (!space && !unread.ok()) return unread;
  if (has_colour && !space) return unavailable("a colour space that only its maker knows");
  out.space = space.value_or(Space::unspecified);
  return {};
}

}  // namespace

bool is_code_stream(Bytes bytes) { return characters_of(bytes).starts_with(kCodeStream); }
bool is_container(Bytes bytes) { return characters_of(bytes).starts_with(kSignature); }

Result<Container> read_container(Bytes bytes) {
  Container out{bytes, Space::unspecified, {}};
  if (is_code_stream(bytes)) return out;
  bool has_header = false;
  Bytes left = bytes;
  while (const auto box = next_iso_box(left)) {
    if (box->kind == "jp2h" && !has_header) {
      HEADRACE_TRY(read_header_boxes(box->content, out));
      has_header = true;
    }
    if (box->kind != "jp2c") continue;
    if (!has_header) return corrupt("damaged JPEG 2000: no header before the code stream");
    // To the end of the file: some give their code stream a size that is too small.
    out.code_stream = bytes.subspan(static_cast<size_t>(box->content.data() - bytes.data()));
    return out;
  }
  return corrupt("damaged JPEG 2000: no code stream");
}

Result<std::array<uint32_t, 4>> order_of_components(const Container& container, uint32_t components) {
  const auto expected = [&](std::string_view colours) {
    return unavailable(std::string(colours) + " in " + std::to_string(components) + " components");
  };
  if (container.space == Space::cmyk && components != 4) return expected("CMYK");
  if (container.space == Space::gray && components > 2) return expected("grey");
  std::array<uint32_t, 4> out{0, 1, 2, 3};
  if (container.channels.empty()) return out;
  const uint32_t colours = container.space == Space::cmyk ? 4 : components >= 3 ? 3 : 1;
  std::array<bool, 4> found{}, used{};
  for (const Channel& channel : container.channels) {
    constexpr uint16_t kColour = 0, kAlpha = 1, kPremultiplied = 2;
    const uint16_t of = channel.colour;
    if (channel.component >= components)
      return corrupt("damaged JPEG 2000: it defines component " + std::to_string(channel.component) + " of " +
                     std::to_string(components));
    if (channel.kind == kPremultiplied)
      return Status(Code::unavailable, "a JPEG 2000 whose colours are multiplied by alpha is not supported");
    // A colour of the whole image is the only one.
    const uint32_t place = channel.kind == kAlpha   ? colours
                           : of == 0 || of == 65535 ? channel.component
                                                    : of - 1u;
    const bool is_known = channel.kind == kAlpha ? of == 0 || (colours == 1 && of == 1)
                                                 : channel.kind == kColour && place < colours;
    if (!is_known || place >= components)
      return Status(Code::unavailable, {.expected = "a JPEG 2000 of colours and alpha",
                                        .got = "a component of kind " + std::to_string(channel.kind) +
                                               " for colour " + std::to_string(of)});
    if (found[place] || used[channel.component])
      return corrupt("damaged JPEG 2000: two components for one channel");
    found[place] = used[channel.component] = true, out[place] = channel.component;
  }
  for (uint32_t c = 0; c < components; ++c)
    if (!found[c]) return corrupt("damaged JPEG 2000: no component for channel " + std::to_string(c));
  return out;
}

}  // namespace headrace::jpeg2000
