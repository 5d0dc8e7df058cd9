// A source with further fields that have the same value in every sample, such as the partition of a folder
// "label=cat". Any thread.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace {

struct ConstantField {
  std::string name;
  Tensor value;  // a scalar or a string
};
// REQUIRES: the schema of the source is a flat dict without these names.
SourcePtr with_constant_fields(SourcePtr source, std::vector<ConstantField> fields);

}  // namespace headrace
