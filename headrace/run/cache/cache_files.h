// Where options(cache="auto") stores elements on disk: a folder in the user's cache folder, shared by runs
// and processes. Any thread.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "headrace/core/cache/element_cache.h"
#include "headrace/graph/node.h"
#include "headrace/run/element_cache/disk_cache.h"

namespace headrace {

inline constexpr std::string_view kElementFolder = "elements";

// Results of data_key() for sources: examining millions of files takes time.
using DataKeys = std::map<const Source*, std::string>;

// The key of the elements of `below`: it differs where operators, data, or the version of the user's
// functions differ. REQUIRES: numbered.
std::string element_key(const NodePtr& below, const std::string& version, uint64_t seed, DataKeys& known);

// The cache of that key. Also removes files that no run has read for a month.
Result<std::shared_ptr<ElementCache>> open_elements(const std::string& folder, const std::string& key,
                                                    const DiskCacheRoom& room);

// The answer to `question` first recorded in this folder by any process; records `answer` if there is none.
// "" on failure.
std::string agree(const std::string& folder, const std::string& question, const std::string& answer);

}  // namespace headrace
