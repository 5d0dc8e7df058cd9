// Bytes as text of 64 letters, as RFC 4648 has it. Pure functions; any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

std::string in_base64(std::string_view bytes);
// Nothing where other letters come; the signs of equality at the end may be missing.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace headrace
