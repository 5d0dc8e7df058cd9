// Hashes of whole shards, as index.json has them. XXH's are checked; sha1 and its like are not known here.
#pragma once
#include <memory>

#include "headrace/core/value.h"
#include "headrace/formats/file_index.h"
#include "headrace/formats/source.h"

namespace headrace::mds {

// Whether `hashes`, {"xxh64": "…"}, has one that is known.
Status check_hashes(const Value& hashes);

// Reads all of the file, then goes on as `opening` does; an error where the bytes have another hash.
// REQUIRES: check_hashes.
std::unique_ptr<Opening<FileIndex>> verified(std::unique_ptr<Opening<FileIndex>> opening, uint64_t size,
                                             const Value& hashes);

}  // namespace headrace::mds
