// What becomes of a sample's members: `__key__`, whole numbers, and bytes as they are.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/records/record_files.h"

namespace headrace {

inline constexpr std::string_view kSampleKey = "__key__";

struct SampleFields {
  std::vector<std::string> names;  // suffixes in lower case, and kSampleKey where the key is wanted
  bool decode = true;              // cls, id and their like are numbers; without, everything is bytes
  bool may_be_missing = false;     // bytes that are missing are empty; else an error

  Status check() const;  // no name twice, none that would have to be unpickled
  Schema schema() const;
  // The fields of the sample that `record` is. Any thread.
  Status read(const Record& record, std::vector<Tensor>& fields) const;
};

}  // namespace headrace
