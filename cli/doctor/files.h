// Files as samples use them, for `headrace doctor` to measure: which bytes of which files a sample is made
// of, reading them from the disk although they are in memory, and a file of one's own that leaves no trace.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headrace/formats/source.h"
#include "headrace/io/store.h"

namespace headrace::cli {

struct Piece {
  size_t file = 0;  // in a list of names
  uint64_t offset = 0, length = 0;
};

// Writes down what is read through it. For one thread.
class WatchedStore final : public Store {
 public:
  explicit WatchedStore(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  std::vector<Piece> take();                                        // what was read since the last call
  const std::vector<std::string>& files() const { return files_; }  // that were opened

  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override;
  Result<FileInfo> info(const std::string& path) override { return store_->info(path); }
  Result<Listing> list(const std::string& root) override { return store_->list(root); }

 private:
  class File;
  std::shared_ptr<Store> store_;
  std::map<std::string, size_t> ordinals_;
  std::vector<std::string> files_;
  std::vector<Piece> pieces_;
};

// Ask the system to give up what it holds of these bytes, in its cache of files. It may not.
void forget(const std::vector<std::string>& files, std::span<const std::vector<Piece>> samples);

double process_cpu_s();  // that all threads of this process have used

// Bytes that this process has waited for from disks, as the system counts them: 0 of what is in its cache.
uint64_t bytes_from_disk();

// A file without a name, in the user's cache folder or where temporary files are; gone with this object or
// with the process. Of the two folders, the one that is on the same disk as `path`.
class ScratchFile {
 public:
  static Result<std::unique_ptr<ScratchFile>> make(const std::string& path, uint64_t bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  Status append(std::span<const std::byte> bytes);
  Status finish();  // all of it is on the disk, so that forget() may work
  void forget();
  Status read(uint64_t offset, std::span<std::byte> out) const;  // any thread
  uint64_t size() const { return size_; }
  const std::string& folder() const { return folder_; }
  bool on_same_disk() const { return on_same_disk_; }
  bool in_memory() const { return in_memory_; }  // of a file system without a disk

 private:
  ScratchFile(int descriptor, std::string folder, bool on_same_disk);

  int descriptor_;
  std::string folder_;
  bool on_same_disk_, in_memory_ = false;
  uint64_t size_ = 0;
};

// A folder of one's own in one of these two, removed with what is in it. One at a time: while it is there,
// SIGINT, SIGTERM and SIGHUP are put off until it is gone.
class ScratchFolder {
 public:
  static Result<std::unique_ptr<ScratchFolder>> make(const std::string& path, uint64_t bytes);
  ~ScratchFolder();
  static bool is_interrupted();  // one of them came: end soon
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  ScratchFolder();
  std::string path_;
};

}  // namespace headrace::cli
