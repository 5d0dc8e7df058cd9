// The text of report.css and report.js in this folder; CMake generates the definitions.
#pragma once
#include <string_view>

namespace headrace {

extern const std::string_view kReportStyle, kReportScript;

}  // namespace headrace
