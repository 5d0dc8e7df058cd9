// The index of a RecordIO file: from the .idx that lies beside it, or found by going from part to part.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "headrace/formats/format.h"

namespace headrace {

// What the index keeps in `extra`, for whoever decides what the records are: the first bytes of the first
// record's data, when most records in the first 4 KiB may have headers; else nothing.
inline constexpr size_t kRecordioExtra = 24;

// An .idx is believed when it may be one of this file and 64 of its records, spread over the file, end where
// the next begins; else the file is walked.
std::unique_ptr<Opening<FileIndex>> index_recordio(SourceFile file);

// The records of an .idx, lines of a key, a tab and where the record begins, in the order of the file;
// nothing when they cannot be those of a file of `size` bytes.
std::optional<std::vector<RecordExtent>> parse_recordio_idx(std::string_view text, uint64_t size);

}  // namespace headrace
