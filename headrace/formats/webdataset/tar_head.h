// What precedes a member's data in a tar: its ustar header, and the headers before it with a longer name or
// size (PAX `x`, GNU `L` and `K`). Pure functions; any thread.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "headrace/core/status.h"

namespace headrace {

inline constexpr uint64_t kTarBlock = 512;
inline constexpr uint64_t kMostTarHead = 1 << 20;  // bytes of all headers of one member
inline constexpr int kMostTarExtensions = 16;      // headers before a member's own
inline constexpr size_t kMostTarName = 4096;

// Offsets count from the first byte of the member's first header.
struct TarHead {
  uint64_t needed = 0;     // not 0: that many bytes are needed, and nothing else is set
  bool is_end = false;     // no member: zeros, or no or too few bytes are left
  bool is_closed = false;  // at the end: the two blocks of zeros that a writer adds when it is closed
  bool has_zeros = false;  // at the end: at least one of them
  Status cut;              // at the end: what is missing of a truncated member, which may have a name
  bool is_file = false;    // regular; everything else (folders, links, devices) is skipped
  bool is_link = false;    // hard or symbolic
  std::string_view name;   // as stored, in the bytes or in `joined`
  uint64_t data = 0, size = 0;
  uint64_t end() const { return data + size; }
  uint64_t next() const { return data + (size + kTarBlock - 1) / kTarBlock * kTarBlock; }
};

// `bytes`: from the first header on; the archive has `left` bytes from there. `joined` keeps a name that is
// stored in two parts. With all `left` bytes given, none are needed. REQUIRES: bytes.size() <= left.
Result<TarHead> read_tar_head(std::span<const std::byte> bytes, uint64_t left, std::string& joined);

// Whether these are a header, by its checksum. False for zeros and for fewer bytes than a block.
bool is_tar_header(std::span<const std::byte> bytes);

}  // namespace headrace
