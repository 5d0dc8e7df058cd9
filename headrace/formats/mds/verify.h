// Hashes of whole shards from index.json. xxHash is checked; sha1 and others are not supported.
#pragma once
#include <memory>

#include "headrace/core/value.h"
#include "headrace/formats/file_index.h"
#include "headrace/formats/source.h"

namespace headrace::mds {

// An error unless `hashes`, as {"xxh64": "…"}, has a supported one.
Status check_hashes(const Value& hashes);

// Reads all of the file, then continues with `opening`; an error if the bytes have another hash.
// REQUIRES: check_hashes.
std::unique_ptr<Opening<FileIndex>> verified(std::unique_ptr<Opening<FileIndex>> opening, uint64_t size,
                                             const Value& hashes);

}  // namespace headrace::mds
