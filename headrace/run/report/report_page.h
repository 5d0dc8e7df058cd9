// A report as HTML. The page needs no other file and no network; its JavaScript (page/report.js) draws the
// JSON embedded in it, and a browser without JavaScript shows the text form.
#pragma once
#include <string>
#include <string_view>

#include "headrace/core/value.h"

namespace headrace {

class Timeline;

// `report`: from Loader::report(); sections without data are left out. `timeline`: null, or of the same
// loader.
std::string report_page(const Value& report, const Timeline* timeline, std::string_view title);

// A short form without scripts, to be embedded in other pages such as notebooks.
std::string report_card(const Value& report);

}  // namespace headrace
