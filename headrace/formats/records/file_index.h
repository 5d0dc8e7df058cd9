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

struct FileIndex {
  std::vector<RecordExtent> records;  // each begins where the one before ends, or later
  std::string extra;                  // what else the format keeps of a file; it checks this itself
  bool operator==(const FileIndex&) const = default;
};

// Whether records are in order, apart from each other, and end at `size` at the latest.
bool is_in_order(const FileIndex& index, uint64_t size);

// The records as bytes: four for each where they stand close together and are below 4 GiB, else sixteen.
// Numbers are little-endian. Back: nothing when the bytes are not what was written.
std::string pack_records(const FileIndex& index);
std::optional<std::vector<RecordExtent>> unpack_records(std::span<const std::byte> bytes);

}  // namespace headrace
