// A source with other metadata than its own. Any thread.
#pragma once
#include "headrace/formats/source.h"

namespace headrace {

// The same data; metadata() is `metadata`.
SourcePtr with_metadata(SourcePtr source, Value metadata);

}  // namespace headrace
