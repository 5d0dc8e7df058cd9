#include <dirent.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <system_error>

#include "headrace/core/text/text.h"
#include "headrace/io/archives/archive_store.h"
#include "headrace/io/bounded_file.h"
#include "headrace/io/directory_walk.h"
#include "headrace/io/file_map.h"
#include "headrace/io/look_up.h"
#include "headrace/io/store.h"
#include "headrace/io/system.h"

namespace headrace {
namespace {

constexpr size_t kLargestRead = size_t{1} << 30;  // Linux reads at most 2 GiB - 4 KiB at once

// The directory that a relative path is resolved in: the usual reason why a file is not found.
std::string where_we_are(const std::string& path) {
  std::error_code error;
  if (path.starts_with('/')) return "";
  return " (the current directory is " + in_quotes(std::filesystem::current_path(error).string()) + ")";
}

Result<struct stat> stat_of(const std::string& path) {
  HEADRACE_TRY(check_path(path));
  struct stat s;
  if (::stat(path.c_str(), &s) == 0) return s;
  const int number = errno;
  // There is a name, so it is not absent: what it leads to may be a file system that is not mounted.
  if (number == ENOENT && ::lstat(path.c_str(), &s) == 0 && S_ISLNK(s.st_mode))
    return Status(Code::io, "cannot access " + in_quotes(path) + ": " + std::string(kLeadsNowhere))
        .with({.got = std::string(kLeadsNowhere)})
        .refused(ENOENT, path);
  errno = number;
  return system_error("cannot access", path).after(where_we_are(path));
}

constexpr uint32_t kTmpfs = 0x01021994;

// 0 where it is not known.
uint32_t file_system_of(int descriptor) {
  struct statfs s;
  return ::fstatfs(descriptor, &s) == 0 ? static_cast<uint32_t>(s.f_type) : 0;
}

// File systems on local disks and memory, where a missing page is a short wait. On a network file system it
// may be a long one, in which the thread does not respond; what is below an overlay is not known.
bool is_local_now(int descriptor) {
  constexpr std::array<uint32_t, 6> kLocal{
      0xef53,      // ext2, ext3, ext4
      0x58465342,  // xfs
      0x9123683e,  // btrfs
      0xf2f52010,  // f2fs
      0xca451a4e,  // bcachefs
      kTmpfs,
  };
  return std::ranges::find(kLocal, file_system_of(descriptor)) != kLocal.end();
}

// Asked once for each device: a server may have to answer it.
bool is_local(int descriptor, dev_t device) {
  static std::mutex mutex;
  static std::map<dev_t, bool> known;
  {
    const std::lock_guard lock(mutex);
    if (const auto it = known.find(device); it != known.end()) return it->second;
  }
  const bool out = is_local_now(descriptor);
  const std::lock_guard lock(mutex);
  return known.emplace(device, out).first->second;
}

FileInfo info_of(const struct stat& s) {
  return {.size = S_ISDIR(s.st_mode) ? 0 : static_cast<uint64_t>(s.st_size),
          .mtime_ns = nanoseconds(s.st_mtim),
          .changed_ns = nanoseconds(s.st_ctim),
          .is_directory = S_ISDIR(s.st_mode)};
}

class LocalFile final : public OpenFile {
 public:
  LocalFile(std::shared_ptr<BoundedFile> file, const struct stat& as_opened)
      : file_(std::move(file)), as_opened_(info_of(as_opened)), device_(as_opened.st_dev) {}

  Result<FileInfo> as_opened() override { return as_opened_; }

  Result<uint64_t> size() override {
    HEADRACE_ASSIGN(const BoundedFile::Use open, file_->use());
    struct stat s;
    if (::fstat(open.descriptor(), &s) != 0) return read_error();
    if (!S_ISREG(s.st_mode)) return Status(Code::io, "is not a regular file any more");
    return static_cast<uint64_t>(s.st_size);
  }

  Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
    if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) return size_t{0};
    HEADRACE_ASSIGN(const BoundedFile::Use open, file_->use());
    while (true) {
      const ssize_t count = ::pread(open.descriptor(), out.data(), std::min(out.size(), kLargestRead),
                                    static_cast<off_t>(offset));
      if (count >= 0) return static_cast<size_t>(count);
      if (errno == EINTR) continue;
      Status status = read_error();
      // The next try finds the file that the server now has by this name, if it is the same.
      if (status.error_number() == ESTALE) HEADRACE_TRY(file_->renew());
      return status;
    }
  }

  std::shared_ptr<const FileMap> map() override {
    int descriptor = -1;
    auto held = file_->hold(descriptor);
    if (!held || !is_local(descriptor, device_)) return nullptr;
    const auto now = size();
    return now.ok() ? FileMap::make(descriptor, std::move(held), *now) : nullptr;
  }

  bool is_cached(uint64_t offset) override {
    const auto open = file_->use();
    if (!open.ok()) return false;
    std::byte byte;
    const iovec to{&byte, 1};
    const ssize_t count = ::preadv2(open->descriptor(), &to, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    return count == 1 || (count < 0 && errno == EOPNOTSUPP && file_system_of(open->descriptor()) == kTmpfs);
  }

 private:
  static Status read_error() {
    const int error = errno;
    return Status(Code::io, "cannot read: " + std::generic_category().message(error)).refused(error, "");
  }
  std::shared_ptr<BoundedFile> file_;
  FileInfo as_opened_;
  dev_t device_;
};

Status check_regular(const std::string& path, const struct stat& s) {
  if (S_ISDIR(s.st_mode))
    return Status(Code::io, "cannot read " + in_quotes(path) + ": it is a folder").refused(EISDIR, path);
  if (!S_ISREG(s.st_mode))
    return Status(Code::io, "cannot read " + in_quotes(path) + ": it is not a regular file");
  return {};
}

class FileStore final : public Store {
 public:
  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    // Checked before it is opened: opening a pipe or a device can have side effects.
    HEADRACE_ASSIGN(const struct stat s, stat_of(path));
    HEADRACE_TRY(check_regular(path, s));
    HEADRACE_ASSIGN(std::shared_ptr<BoundedFile> file, BoundedFile::open(path, s));
    return std::unique_ptr<OpenFile>(std::make_unique<LocalFile>(std::move(file), s));
  }

  Result<std::unique_ptr<OpenFile>> open_known(const std::string& path) override {
    HEADRACE_TRY(check_path(path));
    struct stat s;
    auto file = BoundedFile::open_known(path, s);
    // The message says what is there, and where one that is not there was looked for.
    if (!file.ok()) return file.status().code() == Code::not_found ? open(path) : file.status();
    HEADRACE_TRY(check_regular(path, s));
    return std::unique_ptr<OpenFile>(std::make_unique<LocalFile>(*std::move(file), s));
  }

  Result<FileInfo> info(const std::string& path) override {
    HEADRACE_ASSIGN(const struct stat s, stat_of(path));
    return info_of(s);
  }

  Result<Listing> list(const std::string& root) override {
    HEADRACE_TRY(check_path(root));
    return walk(root, Unreadable::fails);
  }

  Result<Listing> list_readable(const std::string& root) override {
    HEADRACE_TRY(check_path(root));
    return walk(root, Unreadable::is_left_out);
  }

  Result<Entries> entries(const std::string& folder) override {
    HEADRACE_TRY(check_path(folder));
    return look_into(folder, Unreadable::fails);
  }

  Result<Entries> entries_readable(const std::string& folder) override {
    HEADRACE_TRY(check_path(folder));
    return look_into(folder, Unreadable::is_left_out);
  }

  bool persistent() const override { return true; }
};

}  // namespace

std::shared_ptr<Store> file_store() {
  static const auto store = with_archives(std::make_shared<FileStore>());
  return store;
}

}  // namespace headrace
