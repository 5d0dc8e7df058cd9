// Record files some of which are damaged as a whole: what is to be had of the others. Any thread.
#pragma once
#include "headrace/formats/format.h"
#include "headrace/formats/index/record_indexes.h"

namespace headrace {

// What is there without the files that are refused, which count as a sample each. A format that does not take
// the files as they were looked at has no others.
// REQUIRES: some are refused.
Result<SourcePtr> open_the_others(const FormatInfo& info, OpenRequest request, const RecordOpening& all,
                                  RecordIndexes indexes);

}  // namespace headrace
