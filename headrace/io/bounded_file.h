// The files that are open for reading, bounded for the whole process.
//
// The number of open files of a process is limited (`ulimit -n`), and each loader would keep hundreds. So
// idle ones are closed when there are many, or when an open fails for lack of descriptors, and opened again
// when they are read, if they are still the same files. All functions may be called from any thread.
#pragma once
#include <sys/stat.h>

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "headrace/core/status.h"

namespace headrace {

class BoundedFile : public std::enable_shared_from_this<BoundedFile> {
 public:
  // Keeps the file open while it exists.
  class Use {
   public:
    Use(std::shared_ptr<BoundedFile> file, int descriptor)
        : file_(std::move(file)), descriptor_(descriptor) {}
    ~Use() {
      if (file_) file_->uses_.fetch_sub(1, std::memory_order_release);
    }
    Use(Use&& other) noexcept : file_(std::move(other.file_)), descriptor_(other.descriptor_) {}
    Use& operator=(Use&&) = delete;
    int descriptor() const { return descriptor_; }

   private:
    std::shared_ptr<BoundedFile> file_;
    int descriptor_;
  };

  // `is`: what the path was a moment ago.
  static Result<std::shared_ptr<BoundedFile>> open(const std::string& path, const struct stat& is);
  // The same for a path that nobody looked at a moment ago; `is` becomes what it is.
  static Result<std::shared_ptr<BoundedFile>> open_known(const std::string& path, struct stat& is);
  ~BoundedFile();
  BoundedFile(const BoundedFile&) = delete;
  BoundedFile& operator=(const BoundedFile&) = delete;

  // Opens it again if it was closed. An error if it is not the file that was opened at first.
  Result<Use> use();
  // Puts the file that now has this path, if it is the same, in the place of one that a network file system
  // does not know any more (ESTALE).
  Status renew();
  // As use(), for as long as a map needs the file; null if too many are held so.
  std::shared_ptr<const void> hold(int& descriptor);

  // How many may be open at a time, and how many are.
  static size_t most_open();
  static size_t num_open();

 private:
  friend class OpenFiles;
  static constexpr int kClosed = -1;

  BoundedFile(const std::string& path, const struct stat& is);
  static Result<std::shared_ptr<BoundedFile>> open_at(const std::string& path, const struct stat* is,
                                                      struct stat& found);
  // REQUIRES of both: mutex_ is held. The descriptor of the same file.
  Result<int> open_same();
  Status open_again();
  bool try_use();

  std::string path_;  // absolute
  dev_t device_;
  ino_t inode_;
  off_t size_;
  timespec mtime_;
  std::mutex mutex_;  // held while it is opened
  std::atomic<int> descriptor_{-1};
  std::atomic<int> uses_{kClosed};
  std::atomic<bool> is_recent_{true};  // used since it was last considered for closing
  std::list<BoundedFile*>::iterator place_;
};

// As ::open(), but with other files closed, and after short waits, if the system has no descriptor left.
int open_with_room(const char* path, int flags, mode_t mode = 0);

}  // namespace headrace
