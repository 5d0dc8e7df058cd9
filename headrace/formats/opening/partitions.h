// Folders named `column=value`, whose values are fields of the samples in them.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/opening/wanted.h"
#include "headrace/formats/splits/hive.h"

namespace headrace {

// All files as one list, so that what they mean must agree as in any other; the columns are those of the
// folder of each file.
// `copies`: compressed copies of files that are left out, for a note. REQUIRES: at least one partition.
Result<SourcePtr> open_partitions(Store& store, const Wanted& wanted, const FormatInfo* named,
                                  const Probe& folder, std::vector<HivePartition> partitions,
                                  const std::vector<std::string>& copies, const IndexingOptions& indexing);

}  // namespace headrace
