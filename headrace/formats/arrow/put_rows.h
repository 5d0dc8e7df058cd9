// Rows of batches with many rows, read straight from mapped files: only the bytes that a row needs are
// accessed.
#pragma once
#include "headrace/formats/arrow/row_places.h"
#include "headrace/formats/source.h"

namespace headrace::arrow {

// As Source::put_mapped(). Anything invalid is left to be read in groups, which report the error.
size_t put_rows(const Table& table, KnownBatches& known, std::span<const uint64_t> rows, MappedBytes& mapped,
                std::span<const FieldPlace> to);

}  // namespace headrace::arrow
