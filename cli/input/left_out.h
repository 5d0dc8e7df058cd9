// Files of a folder, and columns, that were not read, as their format counts them: for those who wonder where
// their images are.
#pragma once
#include <string>

#include "headrace/formats/source.h"

namespace headrace::cli {

// "12 files: endings .heic (10), none (2); no image in the folders eel, newt"; empty when nothing was left
// out.
std::string left_out_text(const Source& source);

// "columns boxes, tags, which are of types that are not read"; empty when there are none.
std::string left_out_columns_text(const Source& source);

// What the numbers of columns mean, by field: {"ts": "timestamp[us]"}; an object.
Value types_in(const Source& source);

// Names that end like a file but are none (a link that leads nowhere, a pipe, a folder) or could not be read:
// [{"path", "reason"}], the path below the source's; empty when there are none.
Value::List problems_of(const Source& source);
// "3 names that could not be read or are no files", for a line.
std::string problems_text(const Value::List& problems);

}  // namespace headrace::cli
