// A report as HTML. The page needs no other file and no network; its JavaScript (run/page/report.js) draws
// what the JSON in it says, and a browser without any shows the text form.
#pragma once
#include <string>
#include <string_view>

#include "headrace/core/value.h"

namespace headrace {

class Timeline;

// `report`: of Loader::report(); what it lacks is left out. `timeline`: null, or of the same loader.
std::string report_page(const Value& report, const Timeline* timeline, std::string_view title);

// The same for pages that others put together, notebooks: some lines, without any script.
std::string report_card(const Value& report);

}  // namespace headrace
