#include "headrace/codecs/pnm/header.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "headrace/codecs/fields.h"

namespace headrace::pnm {
namespace {

using Bytes = std::span<const std::byte>;

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Behind blanks and comments, which end with their line.
size_t behind_blanks(std::string_view text, size_t at) {
  for (; at < text.size(); ++at) {
    if (text[at] == '#')
      while (at < text.size() && text[at] != '\n' && text[at] != '\r') ++at;
    else if (!is_blank(text[at]))
      break;
  }
  return std::min(at, text.size());
}

// The factor of a PFM, of which the sign is the byte order. Readers agree to leave the factor itself alone.
std::optional<double> next_factor(Bytes bytes, size_t& at) {
  constexpr size_t kMostDigits = 40;
  const std::string_view text = characters_of(bytes);
  at = behind_blanks(text, at);
  if (at < text.size() && text[at] == '+') ++at;
  size_t end = at;
  while (end < text.size() && end - at < kMostDigits && !is_blank(text[end])) ++end;
  double factor = 0;
  const auto read = std::from_chars(text.data() + at, text.data() + end, factor);
  if (read.ec != std::errc() || read.ptr != text.data() + end) return std::nullopt;
  at = end;
  return std::isfinite(factor) && factor != 0 ? std::optional(factor) : std::nullopt;
}

std::string size_text(const Header& header) {
  return std::to_string(header.height) + " x " + std::to_string(header.width);
}

// At least that many bytes must follow the header.
Status check_size(Bytes bytes, const Header& header) {
  if (header.height < 1 || header.width < 1 || header.height > kMaxImageSide || header.width > kMaxImageSide)
    return {};  // reported by the caller
  const auto rows = static_cast<uint64_t>(header.height);
  const uint64_t count = rows * static_cast<uint64_t>(header.width) * static_cast<uint64_t>(header.channels);
  const uint64_t needed = !header.plain               ? rows * header.row_bytes()
                          : header.kind == Kind::bits ? count
                                                      : 2 * count - 1;  // blanks between
  if (needed <= bytes.size() - header.samples) return {};
  return corrupt("truncated PNM: " + std::to_string(bytes.size()) + " bytes cannot hold " +
                 size_text(header) + " pixels");
}

}  // namespace

std::optional<uint32_t> next_number(Bytes bytes, size_t& at) {
  const std::string_view text = characters_of(bytes);
  at = behind_blanks(text, at);
  const size_t begin = at;
  uint64_t number = 0;
  for (; at < text.size() && is_digit(text[at]); ++at) {
    number = number * 10 + static_cast<uint64_t>(text[at] - '0');
    if (number >= uint64_t{1} << 31) return std::nullopt;
  }
  const bool ends = at == text.size() || is_blank(text[at]) || text[at] == '#';
  return at > begin && ends ? std::optional(static_cast<uint32_t>(number)) : std::nullopt;
}

std::optional<uint32_t> next_bit(Bytes bytes, size_t& at) {
  const std::string_view text = characters_of(bytes);
  at = behind_blanks(text, at);
  if (at == text.size() || (text[at] != '0' && text[at] != '1')) return std::nullopt;
  return static_cast<uint32_t>(text[at++] - '0');
}

// REQUIRES: at least two bytes, P and the kind.
Result<Header> read_header(Bytes bytes) {
  const char magic = characters_of(bytes)[1];
  const bool is_float = magic == 'F' || magic == 'f';
  Header header;
  header.kind = is_float ? Kind::floats : magic == '1' || magic == '4' ? Kind::bits : Kind::numbers;
  header.plain = magic >= '1' && magic <= '3';
  header.channels = magic == '3' || magic == '6' || magic == 'F' ? 3 : 1;
  size_t at = 2;
  const auto width = next_number(bytes, at), height = next_number(bytes, at);
  if (!width || !height)
    return corrupt("damaged PNM: expected width and height after P" + std::string(1, magic));
  header.width = *width, header.height = *height;
  if (header.kind == Kind::numbers) {
    const auto most = next_number(bytes, at);
    if (!most || *most < 1 || *most > 65535)
      return corrupt("damaged PNM: expected a greatest number from 1 to 65535 after the size");
    header.most = *most;
  } else if (is_float) {
    const auto factor = next_factor(bytes, at);
    if (!factor) return corrupt("damaged PFM: expected a factor other than 0 after the size");
    header.little_endian = *factor < 0;
  }
  if (at == bytes.size() || !is_blank(characters_of(bytes)[at]))
    return corrupt("truncated PNM: ends before its pixels");
  header.samples = at + 1;
  HEADRACE_TRY(check_size(bytes, header));
  return header;
}

}  // namespace headrace::pnm
