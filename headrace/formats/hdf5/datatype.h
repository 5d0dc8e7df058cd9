// The datatype message: what the elements of a dataset are, as leaves. Pure; any bytes may be given.
#pragma once
#include <vector>

#include "headrace/formats/hdf5/structures/contents.h"

namespace headrace::hdf5 {

struct Datatype {
  uint64_t element = 0;  // bytes
  std::vector<Leaf> leaves;
};

// Numbers, enums, text, opaque bytes, arrays of these and runs of them are leaves; a compound has those of
// its members. A type that is not read is a leaf with a refusal, so that other members do not mind.
Result<Datatype> read_datatype(Cursor& cursor);

}  // namespace headrace::hdf5
