// A group of rows as a block: their own bytes and chunks, then the global heap objects they refer to.
#pragma once
#include <memory>

#include "headrace/formats/hdf5/table.h"

namespace headrace::hdf5 {

std::unique_ptr<Opening<BlockPtr>> open_rows(std::shared_ptr<const Table> table, size_t file, RowRange rows);

}  // namespace headrace::hdf5
