#include "headrace/core/byte_size.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace headrace {

Result<uint64_t> parse_byte_size(std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr std::array units{
      Unit{"", 1},      Unit{"b", 1},        Unit{"kb", 1e3},     Unit{"mb", 1e6},     Unit{"gb", 1e9},
      Unit{"tb", 1e12}, Unit{"kib", 0x1p10}, Unit{"mib", 0x1p20}, Unit{"gib", 0x1p30}, Unit{"tib", 0x1p40}};
  double number = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string name;
  for (const char* c = after; c != text.data() + text.size(); ++c)
    if (*c != ' ') name += *c >= 'A' && *c <= 'Z' ? static_cast<char>(*c + 32) : *c;
  for (const Unit& unit : units) {
    const double bytes = std::round(number * unit.bytes);
    if (error == std::errc() && unit.name == name && bytes >= 1 && bytes < 0x1p62)
      return static_cast<uint64_t>(bytes);
  }
  return invalid(
      {.expected = "a size such as \"150MB\" or \"1GiB\"", .got = "\"" + std::string(text) + "\""});
}

std::string byte_size_text(double bytes) {
  constexpr std::array units{"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  while (bytes >= 999.95 && unit + 1 < units.size()) bytes /= 1000, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text;
}

}  // namespace headrace
