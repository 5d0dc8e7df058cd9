// Escapes text for HTML.
#pragma once
#include <string>
#include <string_view>

namespace headrace {

// For text and for attributes in double quotes; invalid UTF-8 is left to the browser.
std::string html_escape(std::string_view text);

}  // namespace headrace
