// Tables of record offsets, in which each record ends where the next begins. Used by MDS and LitData.
#pragma once
#include <span>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/formats/file_index.h"

namespace headrace {

// A uint32 count, then count + 1 uint32 offsets, the last of which is the end of the last record.
constexpr uint64_t offset_table_bytes(uint64_t count) { return 4 * (count + 2); }

// `table`: the first offset_table_bytes(count) bytes of the file. Records are between its end and `size`, one
// after the other; the count in the file must be `count`.
Result<std::vector<RecordExtent>> read_offset_table(std::span<const std::byte> table, uint64_t count,
                                                    uint64_t size);

}  // namespace headrace
