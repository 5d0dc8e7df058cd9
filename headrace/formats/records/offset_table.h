// Tables of offsets that say where records lie: each ends where the next begins. MDS and LitData have them.
#pragma once
#include <span>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/formats/file_index.h"

namespace headrace {

// u32 count and count + 1 offsets of u32, the last of them the end of the last record.
constexpr uint64_t offset_table_bytes(uint64_t count) { return 4 * (count + 2); }

// `table`: the bytes that offset_table_bytes(count) speaks of. Records lie between its end and `size`, one
// behind the other; the count in the file is `count`.
Result<std::vector<RecordExtent>> read_offset_table(std::span<const std::byte> table, uint64_t count,
                                                    uint64_t size);

}  // namespace headrace
