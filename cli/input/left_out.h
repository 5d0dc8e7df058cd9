// Files of a folder, and columns, that were not read, as reported by their format: they explain missing
// images.
#pragma once
#include <string>

#include "headrace/formats/source.h"

namespace headrace::cli {

// "12 files: extensions .heic (10), none (2); no image in the folders eel, newt"; empty if nothing was left
// out.
std::string left_out_text(const Source& source);

// "columns boxes, tags, whose types are not supported"; empty if there are none.
std::string left_out_columns_text(const Source& source);

// The logical types of numeric columns, by field: {"ts": "timestamp[us]"}; an object.
Value types_in(const Source& source);

// Names that end like a file but are not files (a broken link, a pipe, a folder) or could not be read:
// [{"path", "reason"}], with paths relative to the source's; empty if there are none.
Value::List problems_of(const Source& source);
// "3 names that could not be read or are not files".
std::string problems_text(const Value::List& problems);

}  // namespace headrace::cli
