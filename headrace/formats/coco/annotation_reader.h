// Scans a JSON file of COCO once from its first byte to its last: no tree is built, and only one image or
// annotation is in memory as text.
#pragma once
#include <memory>

#include "headrace/formats/coco/annotations.h"
#include "headrace/formats/source.h"

namespace headrace {

inline constexpr char kCocoIndexKind[] = "coco 3";
inline constexpr size_t kMostCocoValue = size_t{64} << 20;  // bytes of an image, annotation or other value

// FileIndex::extra is the packed table; there are no records. Invalid JSON, and an image or annotation
// without an integer id, are errors that name the byte. Anything else that is wrong with an annotation is
// recorded in its flags. `window`: bytes per read.
std::unique_ptr<Opening<FileIndex>> walk_coco(const SourceFile& file, size_t window = size_t{4} << 20);

}  // namespace headrace
