// Lists of shards that other tools write: the JSON of WebDataset's wids,
// {"__kind__": "wids-shard-index-v1", "shardlist": [{"url": "train-000000.tar", "nsamples": 1000}, …]},
// and those of formats with a list of their own (FormatInfo::list).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/format.h"

namespace headrace {

// The shards that the file lists; relative names are in its own folder. Nothing if the file is not such a
// list.
Result<std::optional<std::vector<std::string>>> listed_shards(Store& store, const std::string& path);

// Reads the request's list and sets its files to those listed. Does nothing for a format without a list.
Status take_list(const FormatInfo& format, Store& store, OpenRequest& request);

}  // namespace headrace
