// Blocks of a table: which rows are read together, and their opening.
#pragma once
#include <memory>

#include "headrace/formats/arrow/table.h"

namespace headrace::arrow {

std::unique_ptr<Opening<BlockPtr>> open_group(std::shared_ptr<const Table> table, const Group& group);

}  // namespace headrace::arrow
