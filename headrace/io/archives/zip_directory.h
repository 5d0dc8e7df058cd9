// The structure of a zip file: where its directory is, what that states about each member, where a member's
// bytes begin. Every number is checked against the size of the file. Pure functions; any thread.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/status.h"

namespace headrace::zips {

// What is read from the end of a file: the end record before the longest possible comment, and before it the
// locator of the zip64 record.
inline constexpr uint64_t kTail = 22 + 65535 + 20, kWideEnd = 56, kLocalHead = 30;

struct Directory {
  uint64_t offset = 0, length = 0, members = 0;
  uint64_t wide_end = 0;  // not 0: the numbers are in kWideEnd bytes there
};
// `tail`: the last kTail bytes of the file, or all of it.
Result<Directory> find_directory(std::span<const std::byte> tail, uint64_t file_size);
Result<Directory> read_wide_end(std::span<const std::byte> bytes, uint64_t file_size);

enum Method : uint16_t { kStored = 0, kDeflated = 8, kZstd = 93 };
struct Member {
  std::string name;  // as stored: any bytes
  uint16_t method = 0, flags = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0;  // bytes
  uint64_t local = 0;             // position of its local header
  uint16_t made_by = 0;           // the upper byte is the system, which defines `attributes`
  uint32_t attributes = 0;

  bool is_stored() const { return method == kStored; }
  bool is_link() const;  // its bytes are a path
};
// `bytes`: those of the directory. `take` is called for each member, with the same object each time.
Status walk_members(std::span<const std::byte> bytes, const Directory& directory,
                    const std::function<Status(const Member& member)>& take);
Result<std::vector<Member>> read_members(std::span<const std::byte> bytes, const Directory& directory);

// Where the bytes of a member begin, by its local header, of which kLocalHead bytes are given.
Result<uint64_t> data_of(const Member& member, std::span<const std::byte> head, const Directory& directory);

// Unpacks the bytes of a compressed member and checks their number and checksum.
Status unpack(const Member& member, std::span<const std::byte> packed, std::span<std::byte> out);
// Whether the sizes are plausible; and the member is not encrypted.
Status check_member(const Member& member);

}  // namespace headrace::zips
