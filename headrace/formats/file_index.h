// Where the records of one file are: what a format finds by scanning the file once, and what its sidecar
// stores.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace {

// In bytes of the file, or of its decompressed contents if it is compressed as a whole. Includes framing.
struct RecordExtent {
  uint64_t offset = 0, length = 0;
  bool operator==(const RecordExtent&) const = default;
};

// Bytes that should contain records, but none can be found. They count as one record, and reading it is the
// error: damage affects neither the records before it nor other files.
struct DamagedPlace {
  uint64_t after = 0;  // records of the file before it
  uint64_t offset = 0;
  std::string reason;
  bool operator==(const DamagedPlace&) const = default;
};
inline constexpr size_t kMostDamagedPlaces = 1000;  // per file; everything after them is one more place

// A file that cannot be read at all.
struct RefusedFile {
  size_t file = 0;  // its ordinal
  std::string reason;
};

struct FileIndex {
  std::vector<RecordExtent> records;       // each begins where the one before ends, or later
  std::string extra;                       // further format data about the file; the format validates it
  std::vector<DamagedPlace> damaged = {};  // in order
  bool operator==(const FileIndex&) const = default;
};

// Whether the records are in order, do not overlap, and end at or before `size`.
bool is_in_order(const FileIndex& index, uint64_t size);

// The records as bytes: four per record if they are contiguous and below 4 GiB, else sixteen. Numbers are
// little-endian. Unpacking returns nothing if the bytes were not written by pack_records().
std::string pack_records(const FileIndex& index);
std::optional<std::vector<RecordExtent>> unpack_records(std::span<const std::byte> bytes);
std::string pack_damaged(const FileIndex& index);
std::optional<std::vector<DamagedPlace>> unpack_damaged(std::span<const std::byte> bytes);

}  // namespace headrace
