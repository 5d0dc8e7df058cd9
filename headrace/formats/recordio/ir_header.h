// What MXNet's image records begin with.
#pragma once
#include <cstdint>

namespace headrace {

struct IrHeader {
  uint32_t flag = 0;  // how many labels follow, each f32; 0: the one in the header
  float label = 0;
  uint64_t id = 0, id2 = 0;
};
static_assert(sizeof(IrHeader) == 24);

}  // namespace headrace
