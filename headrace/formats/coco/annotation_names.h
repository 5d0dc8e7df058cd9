// The kinds of COCO's annotation files, which begin their names: "instances_val2017.json". Where a split has
// several, the first of these is read.
#pragma once
#include <array>
#include <string_view>

namespace headrace {

inline constexpr std::array<std::string_view, 5> kCocoKinds{"instances", "person_keypoints", "panoptic",
                                                            "captions", "stuff"};

}  // namespace headrace
