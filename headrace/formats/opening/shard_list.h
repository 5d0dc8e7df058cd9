// Lists of shards that other tools write: the JSON of WebDataset's wids,
// {"__kind__": "wids-shard-index-v1", "shardlist": [{"url": "train-000000.tar", "nsamples": 1000}, …]},
// and those of formats that have one (FormatInfo::list).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/format.h"

namespace headrace {

// The shards that the file lists, those with relative names in its own folder. Nothing when it is no such
// list.
Result<std::optional<std::vector<std::string>>> listed_shards(Store& store, const std::string& path);

// The request's list is read, and its files are those of the list. Nothing is done for a format without one.
Status take_list(const FormatInfo& format, Store& store, OpenRequest& request);

}  // namespace headrace
