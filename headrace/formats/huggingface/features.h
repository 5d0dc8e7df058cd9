// The columns of a Hugging Face data set, as described in dataset_info.json. Pure; any thread.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/core/value.h"

namespace headrace {

struct HuggingFaceColumn {
  std::string name;    // of the field: "image", "meta/id"
  std::string column;  // in the file: "image/bytes"
};

struct HuggingFaceFeatures {
  std::vector<HuggingFaceColumn> columns;                                     // of supported types
  std::vector<std::string> left_out;                                          // lists of structs, of lists …
  std::vector<std::pair<std::string, std::vector<std::string>>> class_names;  // of ClassLabels, by field

  static Result<HuggingFaceFeatures> parse(const Value& features);
  // These fields in this order; a name selects all fields below it. All of `columns` if `names` is empty.
  Result<std::vector<HuggingFaceColumn>> choose(const std::vector<std::string>& names) const;
};

}  // namespace headrace
