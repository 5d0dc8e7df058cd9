// The datatype message: the element type of a dataset, as leaves. Pure; accepts any bytes.
#pragma once
#include <vector>

#include "headrace/formats/hdf5/structures/contents.h"

namespace headrace::hdf5 {

struct Datatype {
  uint64_t element = 0;  // bytes
  std::vector<Leaf> leaves;
};

// Numbers, enums, strings, opaque bytes, arrays and variable-length sequences of these are leaves; a
// compound has the leaves of its members. An unsupported type is a leaf with a refusal, so that other
// members can be read.
Result<Datatype> read_datatype(Cursor& cursor);

}  // namespace headrace::hdf5
