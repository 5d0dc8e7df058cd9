// Rows of batches that have many, straight out of mapped files: of each no more is looked at than it takes.
#pragma once
#include "headrace/formats/arrow/row_places.h"
#include "headrace/formats/source.h"

namespace headrace::arrow {

// As Source::put_mapped(). What is not as it should be is left to be read in groups, which say what is wrong.
size_t put_rows(const Table& table, KnownBatches& known, std::span<const uint64_t> rows, MappedBytes& mapped,
                std::span<const FieldPlace> to);

}  // namespace headrace::arrow
