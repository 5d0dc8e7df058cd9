// Whether a data set that was written, and has not yet its name, reads back as it should.
#pragma once
#include <functional>

#include "headrace/formats/dataset/dataset_writer.h"
#include "headrace/run/loader.h"

namespace headrace {

// Reads the samples of closed() with the reader of the format, and compares their hashes. `progress` gets the
// samples read and answers whether to go on. Errors name shard and sample.
Status read_back(const DatasetWriter& writer, std::string target, const LoaderOptions& loading,
                 const std::function<bool(uint64_t)>& progress);

}  // namespace headrace
