// Opens files of rows: a walk for each file finds its arrays, then what is small is read and kept.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/formats/format.h"
#include "headrace/formats/rows/row_files.h"

namespace headrace {

// An array of one file: a field, and where its rows are. FieldRows::file is set by who opens them.
struct FoundArray {
  std::string name;
  TensorSpec spec;  // of a row
  uint64_t count = 0;
  FieldRows rows;
};
// In its extents file 0 is the one it walks. Errors leave out the file's name.
using ArrayWalk = std::unique_ptr<Opening<std::vector<FoundArray>>>;

// Arrays of all files have the same names, dtypes and shapes of rows, and those of a file as many rows.
SourceOpening open_row_files(std::string format, const OpenRequest& request, std::vector<SourceFile> files,
                             std::vector<ArrayWalk> walks);

// Arrays of these files stand side by side: one sample is a row of each.
SourceOpening open_rows_side_by_side(std::string format, const OpenRequest& request,
                                     std::vector<SourceFile> files, std::vector<ArrayWalk> walks);

}  // namespace headrace
