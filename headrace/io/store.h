// Bytes from anywhere: the one interface between the engine and files, maps, object stores and test doubles.
//
// A Store and the files it opens may be used from several threads at once. A read may be short, as with
// pread; callers use `read_exactly`. Paths are bytes; one that contains a NUL is an error.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/core/status.h"
#include "headrace/io/name_list.h"

namespace headrace {

class FileMap;

struct FileInfo {
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  // When contents or attributes last changed; unlike mtime it cannot be set back. 0 where a store does not
  // know.
  int64_t changed_ns = 0;
  bool is_directory = false;
  // Not looked at now, but remembered of an earlier run (formats/index/recalling_store.h): who opens the file
  // checks that it is still so.
  bool is_recalled = false;
  bool operator==(const FileInfo&) const = default;
};

class OpenFile {
 public:
  virtual ~OpenFile() = default;
  virtual Result<uint64_t> size() = 0;  // now, of the open file
  // As it was when it was opened, where that is known without a look at it; by default only its size now.
  virtual Result<FileInfo> as_opened() {
    HEADRACE_ASSIGN(const uint64_t now, size());
    return FileInfo{.size = now};
  }
  // Reads bytes from `offset` into `out`; fewer than requested is allowed, 0 only at the end of the file.
  virtual Result<size_t> read(uint64_t offset, std::span<std::byte> out) = 0;

  // All of the file as it is now, in memory without a copy (file_map.h); another map with each call. Null
  // where the store has no maps; then use read().
  virtual std::shared_ptr<const FileMap> map() { return nullptr; }
  // Whether reading this byte of a map would not wait for a disk. A guess; false where it is not known.
  virtual bool is_cached(uint64_t offset) {
    (void)offset;
    return false;
  }
};

// The reason of a problem: following the link would list the data again, or all that lies beside them.
inline constexpr std::string_view kLeadsBack = "a link that leads back to a folder it is in";

struct Listing {
  // Regular files below the root, relative to it, sorted by bytes. Links are followed, but never back into a
  // directory that the walk is in.
  Names files;
  // Every directory that was read ("" is the root) and its FileInfo::changed_ns: while all are the same, so
  // are `files`. Of an archive: those without a file, and no changed_ns.
  Names directories;
  std::vector<int64_t> changed_ns;
  // Names that end like a file but are not one; links back to a folder they are in; hidden names that could
  // not be examined.
  struct Problem {
    std::string path, reason;
  };
  std::vector<Problem> problems;
  // Of list_readable(): names that could not be examined, so that the listing is not whole.
  std::vector<Problem> unread = {};
};

// What is directly in a folder: bare names, sorted by bytes; links are followed.
struct Entries {
  Names files, folders;
  std::vector<Listing::Problem> unread = {};  // of entries_readable()
};

class Store {
 public:
  virtual ~Store() = default;
  virtual Result<std::unique_ptr<OpenFile>> open(const std::string& path) = 0;
  // The same for a path that was a regular file before, so that it is opened without a look at it first.
  virtual Result<std::unique_ptr<OpenFile>> open_known(const std::string& path) { return open(path); }
  virtual Result<FileInfo> info(const std::string& path) = 0;
  // All of it: a name below the root that cannot be examined is an error (look_up.h). Folders that never hold
  // data are passed over.
  virtual Result<Listing> list(const std::string& root) = 0;
  // As list, for the folder alone. By default derived from list(), where a store has nothing faster.
  virtual Result<Entries> entries(const std::string& folder);
  // The same two, where names that cannot be examined are `unread` instead of an error. By default as above.
  virtual Result<Listing> list_readable(const std::string& root) { return list(root); }
  virtual Result<Entries> entries_readable(const std::string& folder) { return entries(folder); }
  // Whether a name that nobody listed, and cannot be examined, is to count as absent (skipping_store.h).
  virtual bool leaves_out(const std::string& path, const Status& why) {
    (void)path, (void)why;
    return false;
  }
  // Whether an earlier run found nothing at the path, and nothing was added to its folder since.
  virtual bool is_known_absent(const std::string& path) {
    (void)path;
    return false;
  }
  // What an earlier run found below the root, if nothing was added or removed since; null where that is not
  // known.
  virtual std::shared_ptr<const Listing> recalled_listing(const std::string& root) {
    (void)root;
    return nullptr;
  }
  // Whether a path means the same file to another process: then a sidecar index may store it.
  virtual bool persistent() const { return false; }
  // How many reads a run has in flight at first, if `io` is not given: for a store whose reads are known to
  // wait long, as over a network. 0: as for a disk of this machine. The tuner goes on from there either way.
  virtual size_t reads_at_first() const { return 0; }
};

// The file system of this machine. Reads are pread; maps are guarded, so a file truncated while it is read is
// an error and not a SIGBUS. Only regular files are opened for reading: no pipe, socket or device. Paths may
// lead through archives (archives/archive_store.h).
std::shared_ptr<Store> file_store();

// Fills `out` from `offset`, or an error that states how many bytes there were.
Status read_exactly(OpenFile& file, uint64_t offset, std::span<std::byte> out);

// `length` bytes at `offset`, on the heap; ~0 reads to the end. Checked against the file's size and `limit`
// before memory is taken. For indexes and headers; samples go through the pool of a run.
inline constexpr uint64_t kReadLimit = uint64_t{2} << 30;
Result<BufferPtr> read_bytes(OpenFile& file, uint64_t offset, uint64_t length, uint64_t limit = kReadLimit);

}  // namespace headrace
