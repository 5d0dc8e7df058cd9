// The structure of a zip file: where its directory is, what that says of each member, where a member's bytes
// begin. Every number is checked against the size of the file. Pure functions; any thread.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/status.h"

namespace headrace::zips {

// What is read from the end of a file: the record that ends it behind the longest comment, and in front of it
// the place of the record of 64 bits.
inline constexpr uint64_t kTail = 22 + 65535 + 20, kWideEnd = 56, kLocalHead = 30;

struct Directory {
  uint64_t offset = 0, length = 0, members = 0;
  uint64_t wide_end = 0;  // not 0: the numbers are those that kWideEnd bytes there have
};
// `tail`: the last kTail bytes of the file, or all there are.
Result<Directory> find_directory(std::span<const std::byte> tail, uint64_t file_size);
Result<Directory> read_wide_end(std::span<const std::byte> bytes, uint64_t file_size);

enum Method : uint16_t { kStored = 0, kDeflated = 8, kZstd = 93 };
struct Member {
  std::string name;  // as it stands there: of any bytes
  uint16_t method = 0, flags = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0;  // bytes
  uint64_t local = 0;             // where its own head is
  uint16_t made_by = 0;           // the upper byte is the system, which says what `attributes` are
  uint32_t attributes = 0;

  bool is_stored() const { return method == kStored; }
  bool is_link() const;  // its bytes are a path
};
// `bytes`: those of the directory. `take` sees each member in turn, the same object again.
Status walk_members(std::span<const std::byte> bytes, const Directory& directory,
                    const std::function<Status(const Member& member)>& take);
Result<std::vector<Member>> read_members(std::span<const std::byte> bytes, const Directory& directory);

// Where the bytes of a member begin, as its own head says, of which kLocalHead bytes are there.
Result<uint64_t> data_of(const Member& member, std::span<const std::byte> head, const Directory& directory);

// What the bytes of a member that is packed unpack to, whose number and checksum are right.
Status unpack(const Member& member, std::span<const std::byte> packed, std::span<std::byte> out);
// Whether that many bytes can come from so few; and the member is not encrypted.
Status check_member(const Member& member);

}  // namespace headrace::zips
