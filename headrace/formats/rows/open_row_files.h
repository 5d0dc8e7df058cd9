// Opens files of rows: a walk for each file finds its arrays, then small ones are read and kept.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/formats/format.h"
#include "headrace/formats/rows/row_files.h"

namespace headrace {

// An array of one file: a field, and where its rows are. The opening sets FieldRows::file.
struct FoundArray {
  std::string name;
  TensorSpec spec;  // of a row
  uint64_t count = 0;
  FieldRows rows;
};
// In its extents, file 0 is the one it walks. Errors do not contain the file's name.
using ArrayWalk = std::unique_ptr<Opening<std::vector<FoundArray>>>;

// All files must have arrays of the same names, dtypes and row shapes, and all arrays of a file the same
// number of rows.
SourceOpening open_row_files(std::string format, const OpenRequest& request, std::vector<SourceFile> files,
                             std::vector<ArrayWalk> walks);

// The arrays of these files are side by side: a sample is one row of each.
SourceOpening open_rows_side_by_side(std::string format, const OpenRequest& request,
                                     std::vector<SourceFile> files, std::vector<ArrayWalk> walks);

}  // namespace headrace
