// Blocks of a table: which rows are read together, and their opening.
#pragma once
#include <memory>

#include "headrace/formats/arrow/table.h"

namespace headrace::arrow {

// All of the batch that a row is alone in; of length kToEnd where there are others, or it is compressed.
Extent extent_of(const Table& table, uint64_t row);
// Row i is rows[i] of the table, whose extent begins at[i] in `bytes`.
BlockPtr single_rows(std::shared_ptr<const Table> table, std::span<const uint64_t> rows,
                     std::span<const size_t> at, BufferPtr bytes);

std::unique_ptr<Opening<BlockPtr>> open_group(std::shared_ptr<const Table> table, const Group& group);

}  // namespace headrace::arrow
