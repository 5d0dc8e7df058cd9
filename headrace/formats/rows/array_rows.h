// An array that a header describes, as rows: where its numbers lie in some file, or in memory.
#pragma once
#include <string>

#include "headrace/codecs/npy.h"
#include "headrace/formats/rows/open_row_files.h"

namespace headrace {

// `begin`: where what has the header begins in its file; `size`: its bytes, header included. The error is of
// an array that has no rows, or whose numbers are not there.
Result<FoundArray> array_rows(std::string name, const NpyHeader& header, uint64_t begin, uint64_t size);
// The same of one that is in memory, header included.
Result<FoundArray> array_rows_held(std::string name, const NpyHeader& header, const BufferPtr& bytes);

}  // namespace headrace
