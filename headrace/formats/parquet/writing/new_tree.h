// Which columns of a file in the making are members of structs: fields whose names begin alike, "hw/height"
// and "hw/width". Pure.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/columns.h"

namespace headrace::parquet {

using Path = std::vector<std::string>;

// The path of each. Members of a struct stand side by side; where fields cannot be the leaves
// of one tree that reads back as they are ("a" beside "a/b"), each is a column under its whole name. A field
// of bytes beside its "…/path" is a struct of both, as Hugging Face keeps images.
std::vector<Path> column_paths(const std::vector<FieldColumn>& columns);

// The end of the columns from `begin` on, before `end`, that are in the same struct, or the same column, at
// `depth`.
size_t end_of_member(const std::vector<Path>& paths, size_t begin, size_t end, size_t depth);
// How many members the columns of a struct make at `depth`.
size_t num_members(const std::vector<Path>& paths, size_t begin, size_t end, size_t depth);

}  // namespace headrace::parquet
