// The samples of a tar, found by going from member to member.
#pragma once
#include <memory>

#include "headrace/formats/format.h"

namespace headrace {

inline constexpr uint64_t kMostTarSample = uint64_t{1} << 31;  // bytes, headers included
inline constexpr size_t kMostSampleMembers = 4096;

// A record is a sample: from its first member's first header to the end of its last one's data. `extra` holds
// the first sample's suffixes, in lower case, each with a NUL behind it.
// `may_be_open`: the two blocks of zeros at the end may be missing.
std::unique_ptr<Opening<FileIndex>> walk_webdataset(SourceFile file, bool may_be_open);

}  // namespace headrace
