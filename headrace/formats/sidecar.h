// The one envelope for every index Headrace makes for itself: sections by name, each with a checksum.
//
// A sidecar is a memory of work done, never a truth: one that is stale, damaged or of another version is
// treated as absent and made again. `serialise_sidecar` and `parse_sidecar` are pure; load and store know the
// user's cache folder. Layout, all numbers little-endian:
//
//   8  magic "HRSIDE\r\n"
//   4  version (1)
//   4  number of sections n (at most 64)
//   8  xxh3 of what follows up to the end of the table
//   32 fingerprint of the source, as text
//   n x { 32 name, padded with NUL; 8 offset from the file's start; 8 length; 8 xxh3 of the section }
//   sections, each at a multiple of 64
//
// Any thread may call any of these; any number of processes may store under one key at once.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/core/status.h"

namespace headrace {

struct Section {
  std::string name;  // 1 to 32 bytes
  std::span<const std::byte> bytes;
};

struct Sidecar {
  std::string fingerprint;  // 32 bytes, as hash_text answers; "" reads back as ""
  std::vector<Section> sections;
  BufferPtr owner;  // of the sections' bytes, after parsing

  // The section, or nothing when there is none.
  std::optional<std::span<const std::byte>> find(std::string_view name) const;
};

Result<std::vector<std::byte>> serialise_sidecar(const Sidecar& sidecar);
// Every offset and checksum is checked: after this the sections are what was written.
Result<Sidecar> parse_sidecar(BufferPtr bytes);

// Where the sidecar of `key` (say, "listing /data/train") lies: $XDG_CACHE_HOME or ~/.cache, then
// headrace/<hash>.hri. Empty when this user has no such folder.
std::string sidecar_path(std::string_view key);

// Nothing when it is absent, damaged or, with a fingerprint given, stale.
std::optional<Sidecar> load_sidecar(std::string_view key, std::string_view fingerprint = {});
// Makes the folder (mode 0700) and refuses one that belongs to somebody else. Callers may ignore the status.
Status store_sidecar(std::string_view key, const Sidecar& sidecar);

}  // namespace headrace
