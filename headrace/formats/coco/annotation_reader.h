// A file of COCO's JSON, gone through once from its first byte to its last: no tree is built, and what is in
// memory of the text is an image or an annotation.
#pragma once
#include <memory>

#include "headrace/formats/coco/annotations.h"
#include "headrace/formats/source.h"

namespace headrace {

inline constexpr char kCocoIndexKind[] = "coco 1";
inline constexpr size_t kMostCocoValue = size_t{64} << 20;  // bytes of an image, an annotation, of what else

// FileIndex::extra is the packed table; there are no records. What is no JSON, and an image or an annotation
// without a whole number for an id, is an error that names the byte. What else is wrong with an annotation is
// noted in its flags. `window`: bytes that are read at once.
std::unique_ptr<Opening<FileIndex>> walk_coco(const SourceFile& file, size_t window = size_t{4} << 20);

}  // namespace headrace
