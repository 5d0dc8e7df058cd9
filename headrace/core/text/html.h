// Text inside HTML.
#pragma once
#include <string>
#include <string_view>

namespace headrace {

// For text and for attributes in double quotes; bytes that are no UTF-8 are the browser's to show.
std::string html_escape(std::string_view text);

}  // namespace headrace
