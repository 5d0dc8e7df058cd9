// Text files that list images: "path", "path label", and ILSVRC's "class/name index". Pure; any thread.
#pragma once
#include <string_view>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/io/name_list.h"

namespace headrace {

struct FileList {
  Names names;
  std::vector<int64_t> numbers;  // what follows each name, or none at all
  // The numbers count the lines from 1 and no name has an ending: ILSVRC's ImageSets, where they label
  // nothing.
  bool counts_lines = false;
};

// One name a line. The last word is a number when it is an integer and something stands before it; names may
// hold spaces, and any byte but NUL and line ends. Empty lines are passed over. All lines have a number or
// none has.
Result<FileList> parse_file_list(std::string_view text);

}  // namespace headrace
