// JSON objects that map image paths to labels: {"train/n01440764/x.JPEG": 0, …}. Pure; any thread.
#pragma once
#include <string_view>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/io/name_list.h"

namespace headrace {

struct JsonMap {
  Names names;  // in the order of the text
  std::vector<int64_t> labels;
};

// Parsed without building a tree: only the names are kept in memory. Anything but one flat object of integers
// is an error.
Result<JsonMap> parse_json_map(std::string_view json);

}  // namespace headrace
