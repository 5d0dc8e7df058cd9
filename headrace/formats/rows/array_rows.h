// An array described by a header, as rows: where its elements are in a file or in memory.
#pragma once
#include <string>

#include "headrace/codecs/npy.h"
#include "headrace/formats/rows/open_row_files.h"

namespace headrace {

// `begin`: where the header begins in the file; `size`: bytes of header and array. An error if the array has
// no rows, or its elements are incomplete.
Result<FoundArray> array_rows(std::string name, const NpyHeader& header, uint64_t begin, uint64_t size);
// The same for an array in memory, header included.
Result<FoundArray> array_rows_held(std::string name, const NpyHeader& header, const BufferPtr& bytes);

}  // namespace headrace
