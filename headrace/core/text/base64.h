// Bytes as text of 64 characters, by RFC 4648. Pure functions; any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

std::string in_base64(std::string_view bytes);
// Nothing when there are other characters; the '=' padding may be missing.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace headrace
