// Record files of which some cannot be opened: opens the others. Any thread.
#pragma once
#include "headrace/formats/format.h"
#include "headrace/formats/index/record_indexes.h"

namespace headrace {

// The data without the refused files, which count as one sample each. If the format does not open the
// remaining files in the same way, the error of the first refused file. REQUIRES: some are refused.
Result<SourcePtr> open_the_others(const FormatInfo& info, OpenRequest request, const RecordOpening& all,
                                  RecordIndexes indexes);

}  // namespace headrace
