// What MXNet's image records begin with.
#pragma once
#include <cstdint>

namespace headrace {

struct IrHeader {
  uint32_t flag = 0;  // how many labels follow, each f32; 0: the one in the header
  float label = 0;
  uint64_t id = 0, id2 = 0;  // nobody writes the second

  // Whether so many labels are in a record of so many bytes, this header among them.
  bool fits(uint64_t record) const {
    return record >= sizeof *this && flag <= (record - sizeof *this) / sizeof(float);
  }
};
static_assert(sizeof(IrHeader) == 24);

}  // namespace headrace
