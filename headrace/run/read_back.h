// Verifies that a data set that was written, but not renamed to its final name yet, reads back correctly.
#pragma once
#include <functional>

#include "headrace/formats/dataset/dataset_writer.h"
#include "headrace/run/loader.h"

namespace headrace {

// Reads the samples of closed() with the reader of the format, and compares their hashes. `progress` is
// called with the number of samples read and returns whether to continue. Errors name shard and sample.
Status read_back(const DatasetWriter& writer, std::string target, const LoaderOptions& loading,
                 const std::function<bool(uint64_t)>& progress);

}  // namespace headrace
