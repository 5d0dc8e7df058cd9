// Blocks of a table: which rows are read together, and their opening.
#pragma once
#include <memory>

#include "headrace/formats/arrow/table.h"

namespace headrace::arrow {

// Of each row all of the batch that it is alone in; of length kToEnd where there are others, or it is
// compressed, and mappable then where put_rows() may have it.
void extents_of(const Table& table, std::span<const uint64_t> rows, std::span<Extent> out);
// Row i is rows[i] of the table, whose extent begins at[i] in `bytes`.
BlockPtr single_rows(std::shared_ptr<const Table> table, std::span<const uint64_t> rows,
                     std::span<const size_t> at, BufferPtr bytes);

std::unique_ptr<Opening<BlockPtr>> open_group(std::shared_ptr<const Table> table, const Group& group);

}  // namespace headrace::arrow
