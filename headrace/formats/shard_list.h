// Lists of shards that other tools write: the JSON of WebDataset's wids,
// {"__kind__": "wids-shard-index-v1", "shardlist": [{"url": "train-000000.tar", "nsamples": 1000}, …]}.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/io/store.h"

namespace headrace {

// The shards that the file lists, those with relative names in its own folder. Nothing when it is no such
// list.
Result<std::optional<std::vector<std::string>>> listed_shards(Store& store, const std::string& path);

}  // namespace headrace
