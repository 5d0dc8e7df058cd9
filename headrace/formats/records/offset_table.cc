#include "headrace/formats/records/offset_table.h"

#include "headrace/core/little_endian.h"

namespace headrace {

Result<std::vector<RecordExtent>> read_offset_table(std::span<const std::byte> table, uint64_t count,
                                                    uint64_t size) {
  if (table.size() < 4 || (table.size() - 4) / 4 <= count)
    return corrupt({.expected = "a table of " + std::to_string(count) + " offsets",
                    .got = "only " + std::to_string(table.size()) + " bytes"});
  if (const auto stated = load<uint32_t>(table); stated != count)
    return corrupt({.expected = std::to_string(count) + " records as in the index",
                    .got = std::to_string(stated) + " at byte 0"});
  std::vector<RecordExtent> out(count);
  uint64_t begin = load<uint32_t>(table, 4), least = offset_table_bytes(count);
  for (uint64_t i = 0; i <= count; ++i, least = begin) {
    const uint64_t offset = load<uint32_t>(table, 4 + 4 * i);
    if (offset < least || offset > size)
      return corrupt({.expected = "an offset from " + std::to_string(least) + " to " + std::to_string(size),
                      .got = std::to_string(offset) + " at byte " + std::to_string(4 + 4 * i)});
    if (i > 0) out[i - 1] = {begin, offset - begin};
    begin = offset;
  }
  return out;
}

}  // namespace headrace
