// Images in folders, one per class, as the smallest format there is: a file is a sample and a Block, with the
// ordinal of its folder as label. Its Opening needs no bytes: the listing is io's.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace::trial {

// `names` are relative to `root`, "class/name", sorted.
Result<std::unique_ptr<Opening<SourcePtr>>> open_image_folder(std::string root,
                                                              std::vector<std::string> names);

}  // namespace headrace::trial
