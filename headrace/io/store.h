// Bytes from anywhere: the one interface between the engine and files, maps, object stores and test doubles.
//
// A Store and the files it opens may be used from several threads at once. A read may be short, as pread's; `read_exactly`
// is what callers use.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"

namespace headrace {

class OpenFile {
 public:
  virtual ~OpenFile() = default;
  virtual Result<uint64_t> size() = 0;  // now, of what is open
  // Bytes from `offset` into `out`; fewer than asked is allowed, 0 only at the end of the file.
  virtual Result<size_t> read(uint64_t offset, std::span<std::byte> out) = 0;
};

struct FileInfo {
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  bool is_directory = false;
};

struct Listing {
  // Regular files below the root, relative to it, sorted by bytes; directories that hold none are not listed.
  // A link is followed once per directory, never in a circle.
  std::vector<std::string> files;
  // Names that end like a file but are none, or could not be read: path and reason.
  std::vector<std::pair<std::string, std::string>> problems;
};

class Store {
 public:
  virtual ~Store() = default;
  virtual Result<std::unique_ptr<OpenFile>> open(const std::string& path) = 0;
  virtual Result<FileInfo> info(const std::string& path) = 0;
  virtual Result<Listing> list(const std::string& root) = 0;
};

// The file system of this machine. pread, no mmap: a file cut short while it is read is an error and not a SIGBUS.
std::shared_ptr<Store> file_store();

// `length` bytes at `offset`, or an error that says how many there were.
Status read_exactly(OpenFile& file, uint64_t offset, std::span<std::byte> out);

}  // namespace headrace
