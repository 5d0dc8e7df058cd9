// The index of a TFRecord file: found by going from header to header.
#pragma once
#include <memory>

#include "headrace/formats/format.h"

namespace headrace {

// Asks for headers alone where records are long, and for whole windows where many lie in one.
std::unique_ptr<Opening<FileIndex>> walk_tfrecord(SourceFile file);

}  // namespace headrace
