#include "headrace/io/file_system.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <vector>

#include "headrace/core/text/text.h"
#include "headrace/io/bounded_file.h"
#include "headrace/io/system.h"

namespace headrace {
namespace {

// Closes the descriptor.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : value_(open_with_room(path.c_str(), flags | O_CLOEXEC)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }

 private:
  int value_;
};

int rename_with(const std::string& from, const std::string& to, unsigned flags) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags);
}

// Some network file systems only support rename().
bool lacks_flags() { return errno == EINVAL || errno == ENOSYS; }

Status cannot_move(const std::string& from, const std::string& to) {
  return system_error("cannot move " + in_quotes(from) + " to", to);
}

// A few files one by one. For many, the whole file system at once: each alone would cost a commit of its
// journal, while together they cost only the other pending writes.
Status sync_folder(const std::string& path) {
  constexpr size_t kFew = 4096;
  std::vector<std::string> all{path};
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(path, error), end;
       !error && it != end && all.size() <= kFew; it.increment(error))
    if (!it->is_symlink(error)) all.push_back(it->path());
  if (error) return system_error("cannot list", path, error);
  if (all.size() > kFew) {
    const Descriptor folder(path, O_RDONLY | O_DIRECTORY);
    return folder.value() >= 0 && ::syncfs(folder.value()) == 0 ? Status()
                                                                : system_error("cannot write", path);
  }
  for (const std::string& one : all) {
    const Descriptor file(one, O_RDONLY);
    if (file.value() < 0 || ::fsync(file.value()) != 0) return system_error("cannot write", one);
  }
  return {};
}

}  // namespace

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_empty_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored) && std::filesystem::is_empty(path, ignored);
}

bool exists(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) == 0) return true;
  return errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG;
}

Result<uint64_t> file_number(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return system_error("cannot access", path);
  return static_cast<uint64_t>(info.st_ino);
}

Status make_folder(const std::string& path) {
  HEADRACE_TRY(check_path(path));
  return ::mkdir(path.c_str(), 0777) == 0 ? Status() : system_error("cannot create", path);
}

Status make_folders_above(const std::string& path) {
  HEADRACE_TRY(check_path(path));
  const std::filesystem::path above = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!above.empty()) std::filesystem::create_directories(above, error);
  return error ? system_error("cannot create", above.string(), error) : Status();
}

Status remove_all(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? system_error("cannot remove", path, error) : Status();
}

Status remove_file(const std::string& path) {
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? Status() : system_error("cannot remove", path);
}

void remove_empty_folder(const std::string& path) { (void)::rmdir(path.c_str()); }

Status sync_path(const std::string& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) return sync_folder(path);
  const Descriptor file(path, O_RDONLY);
  return file.value() >= 0 && ::fdatasync(file.value()) == 0 ? Status() : system_error("cannot write", path);
}

Status append_lasting(const std::string& path, std::span<const std::byte> bytes) {
  const Descriptor file(path, O_WRONLY | O_APPEND);
  if (file.value() < 0) return system_error("cannot open", path);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count = ::write(file.value(), bytes.data() + done, bytes.size() - done);
    if (count > 0)
      done += static_cast<size_t>(count);
    else if (count == 0 || errno != EINTR)
      return system_error("cannot write", path);
  }
  return ::fdatasync(file.value()) == 0 ? Status() : system_error("cannot write", path);
}

Status sync_names(const std::string& path) {
  const std::string name = folder_of(path);
  const Descriptor folder(name, O_RDONLY | O_DIRECTORY);
  if (folder.value() < 0) return errno == EACCES ? Status() : system_error("cannot open", name);
  if (::fsync(folder.value()) == 0 || errno == EINVAL || errno == ENOTSUP) return {};
  return system_error("cannot write", name);
}

Status move(const std::string& from, const std::string& to, Existing existing) {
  if (existing == Existing::refused && !is_empty_folder(to)) {
    if (rename_with(from, to, RENAME_NOREPLACE) == 0) return {};
    if (!lacks_flags()) return cannot_move(from, to);
    if (exists(to)) {
      errno = EEXIST;
      return cannot_move(from, to);
    }
  }
  return ::rename(from.c_str(), to.c_str()) == 0 ? Status() : cannot_move(from, to);
}

Status exchange(const std::string& from, const std::string& to, const std::string& aside) {
  if (rename_with(from, to, RENAME_EXCHANGE) == 0) return {};
  return lacks_flags() ? exchange_by_hand(from, to, aside) : cannot_move(from, to);
}

Status exchange_by_hand(const std::string& from, const std::string& to, const std::string& aside) {
  HEADRACE_TRY(move(to, aside, Existing::refused));
  Status moved = move(from, to, Existing::refused);
  if (moved.ok()) return {};
  if (move(aside, to, Existing::refused).ok()) return moved;
  return std::move(moved).after("; the old data is at " + in_quotes(aside));
}

Result<std::unique_ptr<FileLock>> FileLock::take(const std::string& path) {
  HEADRACE_TRY(check_path(path));
  while (true) {
    const int descriptor = open_with_room(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) return system_error("cannot create", path);
    std::unique_ptr<FileLock> lock(new FileLock(descriptor));
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::unique_ptr<FileLock>();
      return system_error("cannot lock", path);
    }
    // Its holder may have removed it after it was opened here: then another process makes and locks a new
    // one.
    struct stat held, named;
    if (::fstat(descriptor, &held) != 0) return system_error("cannot access", path);
    const bool is_named = ::stat(path.c_str(), &named) == 0;
    if (is_named && held.st_dev == named.st_dev && held.st_ino == named.st_ino) return lock;
    if (!is_named && errno != ENOENT) return system_error("cannot access", path);
  }
}

FileLock::FileLock(int descriptor) : descriptor_(descriptor), process_(::getpid()) {}

bool FileLock::is_held_here() const { return process_ == ::getpid(); }

FileLock::~FileLock() {
  // Closing alone is not enough: child processes share what is open.
  if (is_held_here()) (void)::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

}  // namespace headrace
