// The file format of all indexes that Headrace stores: named sections, each with a checksum.
//
// A sidecar only caches work: one that is stale, damaged or of another version is treated as absent and made
// again. So is one that others may have written than those who may write to the data: what it says is checked
// for bounds and order, not against all of the data. `serialise_sidecar` and `parse_sidecar` are pure; the
// load and store functions locate sidecars in the user's cache folder, or next to the data for all its
// readers. Layout, all numbers little-endian:
//
//   8  magic "HRSIDE\r\n"
//   4  version (1)
//   4  number of sections n (at most 64)
//   8  xxh3 of what follows up to the end of the table
//   32 fingerprint of the source, as a string
//   n x { 32 name, padded with NUL; 8 offset from the file's start; 8 length; 8 xxh3 of the section }
//   sections, each at a multiple of 64
//
// Any thread may call any of these; any number of processes may store under one key at once.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/core/status.h"
#include "headrace/io/store.h"

namespace headrace {

class StopFlag;

struct Section {
  std::string name;  // 1 to 32 bytes
  std::span<const std::byte> bytes;
};

struct Sidecar {
  std::string fingerprint;  // 32 bytes, from hash_text; "" reads back as ""
  std::vector<Section> sections;
  BufferPtr owner;  // of the sections' bytes, after parsing

  // The section, or nothing if there is none.
  std::optional<std::span<const std::byte>> find(std::string_view name) const;
};

Result<std::vector<std::byte>> serialise_sidecar(const Sidecar& sidecar);
// Checks every offset and checksum: the parsed sections are exactly those written.
Result<Sidecar> parse_sidecar(BufferPtr bytes);

// What precedes the sections.
struct SidecarTable {
  struct Place {
    std::string name;
    uint64_t offset = 0, length = 0, checksum = 0;
  };
  std::string fingerprint;
  std::vector<Place> sections;
};
inline constexpr size_t kMaxSidecarTable = 4096;  // bytes, header included
Result<std::vector<std::byte>> serialise_sidecar_table(const SidecarTable& table);
uint64_t sidecar_table_size(size_t sections);
uint64_t sidecar_section_offset(uint64_t end);  // of the section after one that ends there
// `head`: the first kMaxSidecarTable bytes of the file, or all of it.
Result<SidecarTable> parse_sidecar_table(std::span<const std::byte> head, uint64_t file_size);

// A sidecar too large for memory: its sections are read on demand. Any thread.
class SidecarFile {
 public:
  SidecarFile(SidecarTable table, std::unique_ptr<OpenFile> file)
      : table_(std::move(table)), file_(std::move(file)) {}

  uint64_t size(std::string_view name) const { return find(name) ? find(name)->length : 0; }
  Result<BufferPtr> section(std::string_view name);  // all of it, with its checksum verified
  // Part of a section, without verification.
  Status read(std::string_view name, uint64_t offset, std::span<std::byte> out);

 private:
  const SidecarTable::Place* find(std::string_view name) const;

  SidecarTable table_;
  std::unique_ptr<OpenFile> file_;
};

// Where a sidecar is stored.
class SidecarPlace {
 public:
  // That of `key` (for example "listing /data/train"): $XDG_CACHE_HOME or ~/.cache, then headrace/<hash>.hri.
  SidecarPlace(std::string_view key);
  SidecarPlace(const std::string& key) : SidecarPlace(std::string_view(key)) {}
  SidecarPlace(const char* key) : SidecarPlace(std::string_view(key)) {}
  // <folder>/.headrace/<name>.hri. Anyone who can write there can write the data as well.
  static SidecarPlace beside(const std::string& folder, std::string_view name);

  const std::string& path() const { return path_; }  // empty if this user has no cache folder
  bool is_cache() const { return is_cache_; }
  std::string folder() const { return path_.substr(0, path_.rfind('/')); }

 private:
  SidecarPlace(std::string path, bool is_cache) : path_(std::move(path)), is_cache_(is_cache) {}
  std::string path_;
  bool is_cache_;
};

// A folder of this name in the user's cache folder, created if missing; an error if another user may write to
// it.
Result<std::string> own_cache_folder(std::string_view name);

// Nothing if it is absent, damaged or, with a fingerprint given, stale.
std::optional<Sidecar> load_sidecar(const SidecarPlace& place, std::string_view fingerprint = {});
std::unique_ptr<SidecarFile> open_sidecar(const SidecarPlace& place);
// Creates the folder; that of the cache with mode 0700, and refuses one that another user owns. Callers may
// ignore the status.
Status store_sidecar(const SidecarPlace& place, const Sidecar& sidecar);

// A section that is written piece by piece, for sidecars too large for memory.
struct MadeSection {
  using Write = std::function<Status(std::span<const std::byte>)>;
  std::string name;
  std::function<Status(const Write& write)> make;
};
// The same as store_sidecar; sections are made one after the other. After a power failure the file may be
// damaged.
Status store_made_sidecar(const SidecarPlace& place, std::span<const MadeSection> sections);
Status make_folder_of(const SidecarPlace& place);  // as storing there does

// Held by one object of one process at a time, from reading a sidecar to storing an extended one, so that
// nothing that others store is lost.
class SidecarLock {
 public:
  // For how long one waits for a holder that does not go on.
  static constexpr std::chrono::milliseconds kPatience{10'000};

  // Waits while another holds it; returns `stopped()` if the flag, if there is one, is raised, and
  // `unavailable` when the holder has not gone on for so long. Holds nothing if the file system has no locks.
  static Result<SidecarLock> take(const SidecarPlace& place, const StopFlag* stop,
                                  std::chrono::milliseconds patience = kPatience);
  // `unavailable` at once if another holds it.
  static Result<SidecarLock> try_take(const SidecarPlace& place) {
    return take(place, nullptr, std::chrono::milliseconds(0));
  }
  // Shows those who wait that the work goes on.
  void goes_on() const;
  SidecarLock(SidecarLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  SidecarLock& operator=(SidecarLock&&) = delete;
  ~SidecarLock();

 private:
  explicit SidecarLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace headrace
