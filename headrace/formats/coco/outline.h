// The "segmentation" of an annotation, as runs of a mask: from polygons, runs, or a string of runs. Pure; any
// thread.
#pragma once
#include <string_view>
#include <vector>

#include "headrace/formats/coco/masks.h"

namespace headrace {

// Sorted and disjoint. `outline`: see add_polygon.
Result<std::vector<MaskRun>> read_outline(std::string_view json, const MaskSize& size, uint64_t& outline);

}  // namespace headrace
