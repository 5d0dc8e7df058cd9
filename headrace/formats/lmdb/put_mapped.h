// Keys and values straight from mapped files: small ones are a fortieth of their page, so only they are
// copied.
#pragma once
#include <span>

#include "headrace/formats/lmdb/data.h"
#include "headrace/formats/source.h"

namespace headrace {

// See Source::put_mapped(). REQUIRES: values are bytes.
size_t put_lmdb_pairs(const Lmdb& lmdb, std::span<const uint64_t> indices, MappedBytes& mapped,
                      std::span<const FieldPlace> to);

}  // namespace headrace
