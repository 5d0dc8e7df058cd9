// skip_unreadable=True, the option of every format: data without the names that cannot be examined, which are
// listed in its notes. Pure; any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/options.h"
#include "headrace/formats/source.h"
#include "headrace/io/look_up.h"
#include "headrace/io/store.h"

namespace headrace {

OptionInfo skip_unreadable_option();

// What was left out, for a warning; "" if nothing was.
std::string left_out_note(const std::vector<Listing::Problem>& left_out);

// The source as it was opened with the option: describe() has it, and metadata() what was left out as
// "unreadable", [{"path", "reason"}], with a note.
SourcePtr with_left_out(SourcePtr source, const std::vector<Listing::Problem>& left_out);

}  // namespace headrace
