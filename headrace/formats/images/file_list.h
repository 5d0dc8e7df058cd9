// Text files that list images: "path", "path label", and ILSVRC's "class/name index". Pure; any thread.
#pragma once
#include <string_view>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/io/name_list.h"

namespace headrace {

struct FileList {
  Names names;
  std::vector<int64_t> numbers;  // after each name; empty if there are none
  // The numbers count the lines from 1 and no name has an ending: ILSVRC's ImageSets, where the numbers are
  // not labels.
  bool counts_lines = false;
};

// One name per line. The last word is a number if it is an integer and not the only word; names may contain
// spaces, and any byte except NUL and line ends. Empty lines are skipped. Either all lines have a number or
// none has.
Result<FileList> parse_file_list(std::string_view text);

}  // namespace headrace
