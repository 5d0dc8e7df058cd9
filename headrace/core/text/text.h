// Strings in messages, and strings as bytes.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace headrace {

// 'like this'. Not named `quoted`: where <iomanip> is included, std::string makes std::quoted visible.
inline std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

inline std::span<const std::byte> text_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace headrace
