// The text of the files beside this one; CMake makes what defines it.
#pragma once
#include <string_view>

namespace headrace {

extern const std::string_view kReportStyle, kReportScript;

}  // namespace headrace
