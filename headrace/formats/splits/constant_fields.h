// A source with further fields that have the same value in all samples of a file, such as those of the folder
// "label=cat". Any thread.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace {

struct ConstantField {
  std::string name;
  Tensor value;  // a scalar or a string
};

struct ConstantFields {
  std::vector<std::string> names;
  std::vector<std::vector<Tensor>> values;  // those of each partition, as many as names, of the same dtypes
  std::vector<uint32_t> of_file;            // the partition of each file of the source
  Value description = {};                   // how a plan describes it
};
// REQUIRES: the schema of the source is a flat dict without these names, and each of its blocks is in one
// file.
SourcePtr with_constant_fields(SourcePtr source, ConstantFields constants);

}  // namespace headrace
