// Where the elements lie that options(cache="auto") keeps on disk: a folder of the user's cache folder,
// shared by runs and processes. Any thread.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "headrace/core/element_cache.h"
#include "headrace/graph/node.h"
#include "headrace/run/element_cache/disk_cache.h"

namespace headrace {

inline constexpr std::string_view kElementFolder = "elements";

// What data_key() says of sources that were asked for already: to look at millions of files takes its time.
using DataKeys = std::map<const Source*, std::string>;

// Names the elements of `below`: another one where they would be others, by operators, data, or the version
// of the user's functions. REQUIRES: numbered.
std::string element_key(const NodePtr& below, const std::string& version, uint64_t seed, DataKeys& known);

// The cache of that key. What no run has read for a month is removed on the way.
Result<std::shared_ptr<ElementCache>> open_elements(const std::string& folder, const std::string& key,
                                                    const DiskCacheRoom& room);

// What was first said for `question` in this folder, by whichever process; `answer` where nothing was. ""
// when the folder cannot tell.
std::string agree(const std::string& folder, const std::string& question, const std::string& answer);

}  // namespace headrace
