// Decides which columns of a file being written are members of structs: fields whose names share a prefix,
// "hw/height" and "hw/width". Pure.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/columns.h"

namespace headrace::parquet {

using Path = std::vector<std::string>;

// The path of each. Members of a struct are adjacent; where fields cannot be the leaves of one tree that
// reads back unchanged ("a" next to "a/b"), each is a column under its full name. A field of bytes followed
// by its "…/path" is a struct of both, as Hugging Face stores images.
std::vector<Path> column_paths(const std::vector<FieldColumn>& columns);

// The end, at most `end`, of the columns from `begin` on that belong to the same struct, or the same
// column, at `depth`.
size_t end_of_member(const std::vector<Path>& paths, size_t begin, size_t end, size_t depth);
// The number of members that the columns of a struct form at `depth`.
size_t num_members(const std::vector<Path>& paths, size_t begin, size_t end, size_t depth);

}  // namespace headrace::parquet
