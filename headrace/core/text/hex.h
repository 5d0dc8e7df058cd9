// Bytes as hex digits, two for each: "fe01".
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headrace {

std::string hex_of(std::span<const std::byte> bytes);
inline std::string hex_of(std::byte byte) { return hex_of(std::span(&byte, 1)); }
// Empty where the text is not such digits, in lower case.
std::optional<std::string> bytes_of_hex(std::string_view hex);

}  // namespace headrace
