#include "headrace/core/text/hex.h"

namespace headrace {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

std::string hex_of(std::span<const std::byte> bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    out += {kHexDigits[value >> 4], kHexDigits[value & 15]};
  }
  return out;
}

std::optional<std::string> bytes_of_hex(std::string_view hex) {
  if (hex.size() % 2 != 0 || hex.find_first_not_of(kHexDigits) != std::string_view::npos) return std::nullopt;
  std::string out;
  for (size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(kHexDigits.find(hex[i]) << 4 | kHexDigits.find(hex[i + 1]));
  return out;
}

}  // namespace headrace
