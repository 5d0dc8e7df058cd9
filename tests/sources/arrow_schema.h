// The columns of an Arrow IPC file as this reader serves them: each leaf with the places of its node and its
// buffers in every record batch. Pure functions on metadata bytes.
#pragma once
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "tests/sources/flatbuffer.h"

namespace headrace::trial {

enum class ArrowLayout : uint8_t {
  fixed,   // validity, values
  binary,  // validity, offsets, bytes
  list,    // validity, offsets; then validity, values of the items
  other,   // its buffers are known, its values are not served
};

struct ArrowColumn {
  std::string name;  // "image/bytes": members of structs by their path
  ArrowLayout layout = ArrowLayout::other;
  DType dtype = DType::u8;
  int offset_size = 4;            // 8 for the "large" types
  std::vector<uint32_t> parents;  // nodes of the structs around it: a null there is a null here
  uint32_t node = 0, buffer = 0;  // the first of its own
  std::string refused;            // why values are not served
};

struct ArrowSchema {
  std::vector<ArrowColumn> columns;
  uint32_t num_nodes = 0, num_buffers = 0;  // of every record batch
};

Result<ArrowSchema> read_arrow_schema(const FlatTable& schema);

// These columns, in this order; all of them when `names` is empty. An error names a column that is not there
// or not served.
Result<std::vector<ArrowColumn>> choose_columns(const ArrowSchema& schema,
                                                const std::vector<std::string>& names);

// One sample's fields. A single column keeps its name: a dict, as for several.
Schema sample_schema(const std::vector<ArrowColumn>& columns);

}  // namespace headrace::trial
