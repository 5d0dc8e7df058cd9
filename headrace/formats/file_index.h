// Where the records of one file lie: what a format finds by walking the file once, and what its sidecar
// keeps.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace {

// In bytes of the file, or of what it unpacks to when it is compressed as a whole. Framing included.
struct RecordExtent {
  uint64_t offset = 0, length = 0;
  bool operator==(const RecordExtent&) const = default;
};

// Bytes in which there should be records and none can be found. Together they count as one record, and to
// read it is the error: what is damaged of a file costs neither what lies before nor the other files.
struct DamagedPlace {
  uint64_t after = 0;  // records of the file before it
  uint64_t offset = 0;
  std::string reason;
  bool operator==(const DamagedPlace&) const = default;
};
inline constexpr size_t kMostDamagedPlaces = 1000;  // of a file; what follows them is one more

// A file of which nothing is to be had.
struct RefusedFile {
  size_t file = 0;  // its ordinal
  std::string reason;
};

struct FileIndex {
  std::vector<RecordExtent> records;       // each begins where the one before ends, or later
  std::string extra;                       // what else the format keeps of a file; it checks this itself
  std::vector<DamagedPlace> damaged = {};  // in order
  bool operator==(const FileIndex&) const = default;
};

// Whether records are in order, apart from each other, and end at `size` at the latest.
bool is_in_order(const FileIndex& index, uint64_t size);

// The records as bytes: four for each where they stand close together and are below 4 GiB, else sixteen.
// Numbers are little-endian. Back: nothing when the bytes are not what was written.
std::string pack_records(const FileIndex& index);
std::optional<std::vector<RecordExtent>> unpack_records(std::span<const std::byte> bytes);
std::string pack_damaged(const FileIndex& index);
std::optional<std::vector<DamagedPlace>> unpack_damaged(std::span<const std::byte> bytes);

}  // namespace headrace
