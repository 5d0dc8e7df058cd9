#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <random>
#include <system_error>

#include "headrace/io/store.h"
#include "headrace/io/walk.h"

namespace headrace {
namespace {

constexpr size_t kLargestRead = size_t{1} << 30;  // Linux reads at most 2 GiB - 4 KiB at once

Status system_error(std::string what, const std::string& path) {
  const int error = errno;
  const Code code = error == ENOENT || error == ENOTDIR ? Code::not_found : Code::io;
  return {code, what + " '" + path + "': " + std::generic_category().message(error)};
}

Status check_path(const std::string& path) {
  if (path.empty()) return invalid("wants a path, got an empty one");
  if (path.find('\0') != std::string::npos) return invalid("wants a path without NUL bytes");
  return {};
}

// What a relative path is relative to: the usual reason why it is not there.
std::string where_we_are(const std::string& path) {
  std::error_code error;
  if (path.starts_with('/')) return "";
  return " (the current directory is '" + std::filesystem::current_path(error).string() + "')";
}

Result<struct stat> stat_of(const std::string& path) {
  HEADRACE_TRY(check_path(path));
  struct stat s;
  if (::stat(path.c_str(), &s) != 0) return system_error("cannot look at", path).after(where_we_are(path));
  return s;
}

class LocalFile final : public OpenFile {
 public:
  explicit LocalFile(int descriptor) : descriptor_(descriptor) {}
  ~LocalFile() override { ::close(descriptor_); }
  LocalFile(const LocalFile&) = delete;
  LocalFile& operator=(const LocalFile&) = delete;

  Result<uint64_t> size() override {
    struct stat s;
    if (::fstat(descriptor_, &s) != 0) return read_error();
    if (!S_ISREG(s.st_mode)) return Status(Code::io, "is no regular file any more");
    return static_cast<uint64_t>(s.st_size);
  }

  Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
    if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) return size_t{0};
    while (true) {
      const ssize_t count =
          ::pread(descriptor_, out.data(), std::min(out.size(), kLargestRead), static_cast<off_t>(offset));
      if (count >= 0) return static_cast<size_t>(count);
      if (errno != EINTR) return read_error();
    }
  }

 private:
  static Status read_error() { return {Code::io, "cannot read: " + std::generic_category().message(errno)}; }
  int descriptor_;
};

class FileStore final : public Store {
 public:
  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    // Looked at before it is opened: opening a pipe or a device can have effects of its own.
    HEADRACE_ASSIGN(const struct stat s, stat_of(path));
    if (S_ISDIR(s.st_mode)) return Status(Code::io, "cannot read '" + path + "': it is a folder");
    if (!S_ISREG(s.st_mode)) return Status(Code::io, "cannot read '" + path + "': it is no regular file");
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return system_error("cannot open", path);
    return std::unique_ptr<OpenFile>(std::make_unique<LocalFile>(descriptor));
  }

  Result<FileInfo> info(const std::string& path) override {
    HEADRACE_ASSIGN(const struct stat s, stat_of(path));
    return FileInfo{S_ISDIR(s.st_mode) ? 0 : static_cast<uint64_t>(s.st_size), nanoseconds(s.st_mtim),
                    nanoseconds(s.st_ctim), S_ISDIR(s.st_mode)};
  }

  Result<Listing> list(const std::string& root) override {
    HEADRACE_TRY(check_path(root));
    return walk(root);
  }

  Result<Entries> entries(const std::string& folder) override {
    HEADRACE_TRY(check_path(folder));
    return look_into(folder);
  }

  bool persistent() const override { return true; }
};

// A new file under a name that nobody else has. Not mkostemp: its mode is 0600 whatever the umask says, and
// others may be meant to read what it becomes.
int create_beside(const std::string& path, std::string& temporary) {
  constexpr int kTries = 100;
  std::random_device random;
  int descriptor = -1;
  for (int i = 0; i < kTries; ++i) {
    temporary = path + '.' + std::to_string(random());
    descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) break;
  }
  return descriptor;
}

}  // namespace

std::shared_ptr<Store> file_store() {
  static const auto store = std::make_shared<FileStore>();
  return store;
}

NewFile::NewFile(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

NewFile::~NewFile() {
  (void)close();
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<std::unique_ptr<NewFile>> NewFile::make(std::string path) {
  HEADRACE_TRY(check_path(path));
  std::string temporary;
  const int descriptor = create_beside(path, temporary);
  if (descriptor < 0) return system_error("cannot create", temporary);
  return std::unique_ptr<NewFile>(new NewFile(std::move(path), std::move(temporary), descriptor));
}

Status NewFile::write(uint64_t offset, std::span<const std::byte> bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        ::pwrite(descriptor_, bytes.data() + done, std::min(bytes.size() - done, kLargestRead),
                 static_cast<off_t>(offset + done));
    if (count > 0)
      done += static_cast<size_t>(count);
    else if (count == 0 || errno != EINTR)
      return system_error("cannot write", temporary_);
  }
  return {};
}

Status NewFile::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0) return system_error("cannot write", temporary_);
  return {};
}

Status NewFile::commit(Lasts lasts) {
  const bool to_disk = lasts == Lasts::after_power_loss;
  if (to_disk && ::fsync(descriptor_) != 0) return system_error("cannot write", temporary_);
  HEADRACE_TRY(close());
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return system_error("cannot replace", path_);
  temporary_.clear();
  if (!to_disk) return {};
  // The name lasts once the directory is on disk; a file system that cannot sync a directory keeps the file
  // all the same.
  const size_t slash = path_.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  if (const int d = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); d >= 0) {
    (void)::fsync(d);
    ::close(d);
  }
  return {};
}

Status write_atomically(const std::string& path, std::span<const std::byte> bytes) {
  HEADRACE_ASSIGN(const std::unique_ptr<NewFile> file, NewFile::make(path));
  HEADRACE_TRY(file->write(0, bytes));
  return file->commit(NewFile::Lasts::after_power_loss);
}

}  // namespace headrace
