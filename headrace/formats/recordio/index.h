// The index of a RecordIO file: from the .idx next to it, or found by going from part to part.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "headrace/formats/format.h"

namespace headrace {

// The size of `extra`, which decides what the records are: the first bytes of the first record's data if most
// records in the first 4 KiB may have headers; else it is empty.
inline constexpr size_t kRecordioExtra = 24;

// An .idx is trusted if it may belong to this file and 64 of its records, spread over the file, end where the
// next begins; else the file is walked.
std::unique_ptr<Opening<FileIndex>> index_recordio(SourceFile file);

// The records of an .idx (lines of key, tab, offset of the record) in the order of the file; nothing if they
// cannot belong to a file of `size` bytes.
std::optional<std::vector<RecordExtent>> parse_recordio_idx(std::string_view text, uint64_t size);

}  // namespace headrace
