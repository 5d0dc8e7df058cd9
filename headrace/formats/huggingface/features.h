// The columns of a data set of Hugging Face's, as dataset_info.json describes them. Pure; any thread.
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
  std::vector<HuggingFaceColumn> columns;                                     // that can be read
  std::vector<std::string> left_out;                                          // lists of structs, of lists …
  std::vector<std::pair<std::string, std::vector<std::string>>> class_names;  // of ClassLabels, by field

  static Result<HuggingFaceFeatures> parse(const Value& features);
  // These fields in this order; a name stands for all below it. All that can be read when `names` is empty.
  Result<std::vector<HuggingFaceColumn>> choose(const std::vector<std::string>& names) const;
};

}  // namespace headrace
