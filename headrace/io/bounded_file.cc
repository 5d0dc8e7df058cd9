#include "headrace/io/bounded_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include "headrace/io/system.h"

namespace headrace {
namespace {

constexpr size_t kMostOpen = 4096, kLeastOpen = 2;
constexpr size_t kShare = 2;  // of the limit of the process, the rest of which is for others
constexpr int kTries = 8;     // with waits of 1, 2, 4 ... ms, about a quarter of a second in all
constexpr uint32_t kFuse = 0x65735546;

// Whether the numbers of its files stay what they are. Those of some file systems of users do not.
bool has_lasting_numbers(int descriptor) {
  struct statfs s;
  return ::fstatfs(descriptor, &s) != 0 || static_cast<uint32_t>(s.f_type) != kFuse;
}

}  // namespace

// All of them, in an order that makes those that were not used for a while easy to find.
class OpenFiles {
 public:
  static OpenFiles& of_process() {
    static auto* const made = new OpenFiles;  // threads may outlive main()
    return *made;
  }

  std::list<BoundedFile*>::iterator add(BoundedFile* file) {
    const std::lock_guard lock(mutex_);
    return files_.insert(hand_, file);
  }
  void remove(BoundedFile& file) {
    const std::lock_guard lock(mutex_);
    if (hand_ == file.place_) ++hand_;
    files_.erase(file.place_);
  }
  void count(int by) { num_open_ += static_cast<size_t>(by); }
  size_t num_open() const { return num_open_; }

  void make_room() {
    const size_t most = BoundedFile::most_open();
    if (num_open_ < most) return;
    const std::lock_guard lock(mutex_);
    while (num_open_ >= most && close_one()) continue;
  }
  // Closes half of those that are not in use, and at least one; false if there was none.
  bool close_some() {
    const std::lock_guard lock(mutex_);
    if (!close_one()) return false;
    for (size_t left = num_open_ / 2; left > 0 && close_one(); --left) continue;
    return true;
  }

  std::atomic<size_t> held{0};  // by maps

 private:
  OpenFiles() {
    // A forked child may read on, so no other thread may be in here at the fork.
    (void)pthread_atfork([] { of_process().mutex_.lock(); }, [] { of_process().mutex_.unlock(); },
                         [] { of_process().mutex_.unlock(); });
  }

  // The next one that is not in use, and was not used since the hand passed it. REQUIRES: mutex_ is held.
  bool close_one() {
    for (size_t looked_at = 0; looked_at < 2 * files_.size(); ++looked_at) {
      if (hand_ == files_.end()) hand_ = files_.begin();
      BoundedFile& file = **hand_++;
      if (file.uses_ != 0 || file.is_recent_.exchange(false, std::memory_order_relaxed)) continue;
      const int descriptor = file.descriptor_;
      int nobody = 0;
      if (!file.uses_.compare_exchange_strong(nobody, BoundedFile::kClosed)) continue;
      ::close(descriptor);
      count(-1);
      return true;
    }
    return false;
  }

  std::mutex mutex_;
  std::list<BoundedFile*> files_;                          // guarded by mutex_
  std::list<BoundedFile*>::iterator hand_ = files_.end();  // guarded by mutex_
  std::atomic<size_t> num_open_{0};
};

size_t BoundedFile::most_open() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kMostOpen;
  return std::clamp(static_cast<size_t>(limit.rlim_cur) / kShare, kLeastOpen, kMostOpen);
}

size_t BoundedFile::num_open() { return OpenFiles::of_process().num_open(); }

int open_with_room(const char* path, int flags, mode_t mode) {
  for (int tries = 0;; ++tries) {
    const int descriptor = ::open(path, flags, mode);
    if (descriptor >= 0 || (errno != EMFILE && errno != ENFILE) || tries == kTries) return descriptor;
    const int error = errno;
    // Those in use are most likely free in a moment.
    if (!OpenFiles::of_process().close_some())
      std::this_thread::sleep_for(std::chrono::milliseconds(1 << tries));
    errno = error;
  }
}

BoundedFile::BoundedFile(const std::string& path, const struct stat& is)
    : path_(path), device_(is.st_dev), inode_(is.st_ino), size_(is.st_size), mtime_(is.st_mtim) {
  std::error_code error;  // the current directory may be another one when it is opened again
  if (!path.starts_with('/'))
    if (const auto here = std::filesystem::current_path(error); !error) path_ = (here / path).string();
  place_ = OpenFiles::of_process().add(this);
}

BoundedFile::~BoundedFile() {
  OpenFiles& all = OpenFiles::of_process();
  all.remove(*this);
  if (uses_ == kClosed) return;
  ::close(descriptor_);
  all.count(-1);
}

Result<std::shared_ptr<BoundedFile>> BoundedFile::open_at(const std::string& path, const struct stat* is,
                                                          struct stat& found) {
  OpenFiles& all = OpenFiles::of_process();
  all.make_room();
  const int descriptor = open_with_room(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return system_error("cannot open", path);
  if (!is && ::fstat(descriptor, &found) != 0) {
    const Status status = system_error("cannot access", path);
    ::close(descriptor);
    return status;
  }
  const std::shared_ptr<BoundedFile> out(new BoundedFile(path, is ? *is : found));
  out->descriptor_ = descriptor;
  all.count(1);
  out->uses_ = 0;  // last: from now on others may close it
  return out;
}

Result<std::shared_ptr<BoundedFile>> BoundedFile::open(const std::string& path, const struct stat& is) {
  struct stat unused;
  return open_at(path, &is, unused);
}

Result<std::shared_ptr<BoundedFile>> BoundedFile::open_known(const std::string& path, struct stat& is) {
  return open_at(path, nullptr, is);
}

bool BoundedFile::try_use() {
  for (int uses = uses_; uses != kClosed;)
    if (uses_.compare_exchange_weak(uses, uses + 1, std::memory_order_acquire)) {
      if (!is_recent_.load(std::memory_order_relaxed)) is_recent_.store(true, std::memory_order_relaxed);
      return true;
    }
  return false;
}

Result<BoundedFile::Use> BoundedFile::use() {
  if (!try_use()) {
    const std::lock_guard lock(mutex_);
    if (!try_use()) HEADRACE_TRY(open_again());
  }
  return Use(shared_from_this(), descriptor_);
}

Result<int> BoundedFile::open_same() {
  OpenFiles::of_process().make_room();
  const int descriptor = open_with_room(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return system_error("cannot open again", path_);
  struct stat s;
  if (::fstat(descriptor, &s) != 0) {
    const Status status = system_error("cannot open again", path_);
    ::close(descriptor);
    return status;
  }
  const bool is_same = s.st_dev == device_ && (s.st_ino == inode_ || !has_lasting_numbers(descriptor)) &&
                       s.st_size == size_ && s.st_mtim.tv_sec == mtime_.tv_sec &&
                       s.st_mtim.tv_nsec == mtime_.tv_nsec;
  if (!is_same) {
    ::close(descriptor);
    return Status(Code::io,
                  "cannot open '" + path_ +
                      "' again: it is not the file that was opened before; it was replaced or written to. "
                      "Read the data set anew. (It was closed in between because this process may have " +
                      std::to_string(most_open()) +
                      " files open for reading at a time, half of its limit: `ulimit -n`)");
  }
  return descriptor;
}

Status BoundedFile::open_again() {
  HEADRACE_ASSIGN(const int descriptor, open_same());
  descriptor_ = descriptor;
  is_recent_ = true;
  OpenFiles::of_process().count(1);
  uses_.store(1, std::memory_order_release);
  return {};
}

Status BoundedFile::renew() {
  const std::lock_guard lock(mutex_);
  if (!try_use()) {
    HEADRACE_TRY(open_again());
    uses_.fetch_sub(1);
    return {};
  }
  const Use in_use(shared_from_this(), descriptor_);
  HEADRACE_ASSIGN(const int descriptor, open_same());
  // In one step: others may be using it.
  const int done = ::dup3(descriptor, in_use.descriptor(), O_CLOEXEC);
  ::close(descriptor);
  return done < 0 ? system_error("cannot open again", path_) : Status();
}

std::shared_ptr<const void> BoundedFile::hold(int& descriptor) {
  OpenFiles& all = OpenFiles::of_process();
  if (all.held >= most_open() / kShare) return nullptr;
  Result<Use> used = use();
  if (!used.ok()) return nullptr;
  struct Held {
    explicit Held(Use&& of) : use(std::move(of)) { ++OpenFiles::of_process().held; }
    ~Held() { --OpenFiles::of_process().held; }
    Use use;
  };
  descriptor = used->descriptor();
  return std::make_shared<const Held>(*std::move(used));
}

}  // namespace headrace
