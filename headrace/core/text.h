// Texts of messages.
#pragma once
#include <string>
#include <string_view>

namespace headrace {

// 'like this'. Not `quoted`: where <iomanip> is near, std::string brings std's function of that name along.
inline std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

}  // namespace headrace
