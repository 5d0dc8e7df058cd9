// Blocks of a table: which rows are read together, and how they are opened.
#pragma once
#include <memory>

#include "headrace/formats/arrow/table.h"

namespace headrace::arrow {

// For each row, the whole batch if that has only this row; of length kToEnd where the batch has other rows
// or is compressed, and mappable then where put_rows() can read it.
void extents_of(const Table& table, std::span<const uint64_t> rows, std::span<Extent> out);
// Row i is rows[i] of the table; its extent begins at at[i] in `bytes`.
BlockPtr single_rows(std::shared_ptr<const Table> table, std::span<const uint64_t> rows,
                     std::span<const size_t> at, BufferPtr bytes);

std::unique_ptr<Opening<BlockPtr>> open_group(std::shared_ptr<const Table> table, const Group& group);

}  // namespace headrace::arrow
