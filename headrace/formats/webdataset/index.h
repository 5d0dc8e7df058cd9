// The samples of a tar, found by going from member to member.
#pragma once
#include <memory>
#include <span>

#include "headrace/formats/format.h"

namespace headrace {

inline constexpr uint64_t kMostTarSample = uint64_t{1} << 31;  // bytes, headers included
inline constexpr size_t kMostSampleMembers = 4096;

// A record is a sample: from its first member's first header to the end of its last member's data, in the
// file or in what it inflates to. `extra` holds the first sample's members (see first_members.h), one more
// NUL, what was passed over (see passed_over.h), a NUL, and the points of a file that is compressed as a
// whole (codecs/deflate/inflate.h). What cannot be read is a DamagedPlace, to the end of the file.
// `may_be_open`: the two blocks of zeros at the end may be missing. DALI's index replaces the walk if it is
// next to the file and agrees with it.
std::unique_ptr<Opening<FileIndex>> walk_webdataset(SourceFile file, bool may_be_open);

// Whether a gzip, zlib or zstd file that begins with these bytes is a tar.
bool begins_deflated_tar(std::span<const std::byte> head);

}  // namespace headrace
