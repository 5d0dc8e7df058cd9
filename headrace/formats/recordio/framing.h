// The frame of a RecordIO record: one part or several, each u32 magic, u32 kind << 29 | length, the data,
// zeros up to a multiple of four; all little-endian. Pure functions; any thread.
//
// A writer splits a record at every magic word at a multiple of four in it and drops that word, so the magic
// word at such a position always begins a part.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "headrace/core/status.h"
#include "headrace/formats/records/record_files.h"

namespace headrace {

inline constexpr uint32_t kRecordioMagic = 0xced7230a;
inline constexpr uint64_t kRecordioHeader = 8;
inline constexpr uint64_t kMostRecordio = uint64_t{1} << 31;  // bytes of a record, all its parts together

enum class PartKind : uint8_t { whole, first, middle, last };

struct RecordioPart {
  PartKind kind = PartKind::whole;
  uint64_t length = 0;  // of the data
  uint64_t framed() const { return kRecordioHeader + (length + 3) / 4 * 4; }
  bool begins() const { return kind == PartKind::whole || kind == PartKind::first; }
  bool ends() const { return kind == PartKind::whole || kind == PartKind::last; }
  bool is_all_of(uint64_t record) const { return kind == PartKind::whole && framed() == record; }
};

// The part that begins with `header`, with `left` bytes from its first byte to the end.
// REQUIRES: header.size() >= kRecordioHeader.
Result<RecordioPart> recordio_part(std::span<const std::byte> header, uint64_t left);

// An error unless `part` may come next; `inside`: a record has begun and not ended.
Status follows(const RecordioPart& part, bool inside);

// The data of a record, whose bytes must be complete. Shared if it has one part; several are joined in new
// memory.
Result<Tensor> recordio_data(const Record& record);

// The data of a record of one part, whose bytes must be complete; nothing: recordio_data() handles it or
// reports the error. Reads each word of the frame once.
std::optional<std::span<const std::byte>> whole_recordio_data(std::span<const std::byte> record);

// The first bytes of a record's data, at most `count`, as far as `bytes`, the record's first bytes, hold
// them.
std::string recordio_prefix(std::span<const std::byte> bytes, size_t count);

// Whether most of the whole records that can be seen at the start of `bytes` may begin with MXNet's IRHeader:
// they have room for its 24 bytes and for the number of f32 that its first u32 gives.
bool may_have_headers(std::span<const std::byte> bytes);

}  // namespace headrace
