// The header of MXNet's image records.
#pragma once
#include <cstdint>

namespace headrace {

struct IrHeader {
  uint32_t flag = 0;  // the number of f32 labels that follow; 0: one label, in the header
  float label = 0;
  uint64_t id = 0, id2 = 0;  // no known writer sets the second

  // Whether `flag` labels fit into a record of this many bytes, the header included.
  bool fits(uint64_t record) const {
    return record >= sizeof *this && flag <= (record - sizeof *this) / sizeof(float);
  }
};
static_assert(sizeof(IrHeader) == 24);

}  // namespace headrace
