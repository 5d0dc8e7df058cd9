// Texts of messages, and texts as bytes.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace headrace {

// 'like this'. Not `quoted`: where <iomanip> is near, std::string brings std's function of that name along.
inline std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

inline std::span<const std::byte> text_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace headrace
