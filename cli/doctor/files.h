// File access for the measurements of `headrace doctor`: which bytes of which files a sample consists of,
// dropping them from the page cache, and temporary files that leave no trace.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headrace/formats/source.h"
#include "headrace/io/wrapped_store.h"

namespace headrace::cli {

struct Piece {
  size_t file = 0;  // in a list of names
  uint64_t offset = 0, length = 0;
};

// Records what is read through it. For one thread.
class WatchedStore final : public WrappedStore {
 public:
  explicit WatchedStore(std::shared_ptr<Store> store) : WrappedStore(std::move(store)) {}
  std::vector<Piece> take();                                        // what was read since the last call
  const std::vector<std::string>& files() const { return files_; }  // opened so far

  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override;

 private:
  class File;
  std::map<std::string, size_t> ordinals_;
  std::vector<std::string> files_;
  std::vector<Piece> pieces_;
};

// Ask the system to drop these bytes from the page cache. It may not.
void forget(const std::vector<std::string>& files, std::span<const std::vector<Piece>> samples);

double process_cpu_s();  // CPU time of all threads of this process

// Bytes that this process has read from disks, as counted by the system: 0 for what is in the page cache.
uint64_t bytes_from_disk();

// An unnamed file in the user's cache folder or the folder for temporary files, preferably on the same disk
// as `path`; deleted with this object or the process.
class ScratchFile {
 public:
  static Result<std::unique_ptr<ScratchFile>> make(const std::string& path, uint64_t bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  Status append(std::span<const std::byte> bytes);
  Status finish();  // write all of it to the disk, so that forget() may work
  void forget();
  Status read(uint64_t offset, std::span<std::byte> out) const;  // any thread
  uint64_t size() const { return size_; }
  const std::string& folder() const { return folder_; }
  bool on_same_disk() const { return on_same_disk_; }
  bool in_memory() const { return in_memory_; }  // on a file system without a disk

 private:
  ScratchFile(int descriptor, std::string folder, bool on_same_disk);

  int descriptor_;
  std::string folder_;
  bool on_same_disk_, in_memory_ = false;
  uint64_t size_ = 0;
};

// A temporary folder in one of the same two places, removed with its contents. One at a time: while it
// exists, SIGINT, SIGTERM and SIGHUP are deferred.
class ScratchFolder {
 public:
  static Result<std::unique_ptr<ScratchFolder>> make(const std::string& path, uint64_t bytes);
  ~ScratchFolder();
  static bool is_interrupted();  // one of these signals came: finish soon
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  ScratchFolder();
  std::string path_;
};

}  // namespace headrace::cli
