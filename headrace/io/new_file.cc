#include "headrace/io/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include "headrace/io/bounded_file.h"
#include "headrace/io/file_system.h"
#include "headrace/io/system.h"

namespace headrace {
namespace {

constexpr size_t kLargestWrite = size_t{1} << 30;  // Linux writes at most 2 GiB - 4 KiB at once
constexpr size_t kPiece = size_t{1} << 20;         // what AppendedFile collects before it writes

// A new file under a unique name. Not mkostemp: its mode is 0600 whatever the umask is, and others may have
// to read the result.
int create_beside(const std::string& path, std::string& temporary) {
  constexpr int kTries = 100;
  std::random_device random;
  int descriptor = -1;
  for (int i = 0; i < kTries; ++i) {
    temporary = path + '.' + std::to_string(random());
    descriptor = open_with_room(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) break;
  }
  return descriptor;
}

Status write_at(int descriptor, uint64_t offset, std::span<const std::byte> bytes, const std::string& path) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        ::pwrite(descriptor, bytes.data() + done, std::min(bytes.size() - done, kLargestWrite),
                 static_cast<off_t>(offset + done));
    if (count > 0)
      done += static_cast<size_t>(count);
    else if (count == 0 || errno != EINTR)
      return system_error("cannot write", path);
  }
  return {};
}

}  // namespace

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
  return write_at(descriptor_, offset, bytes, temporary_);
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
  return sync_names(path_);  // the name is durable once the folder is on disk
}

Status write_atomically(const std::string& path, std::span<const std::byte> bytes) {
  HEADRACE_ASSIGN(const std::unique_ptr<NewFile> file, NewFile::make(path));
  HEADRACE_TRY(file->write(0, bytes));
  return file->commit(NewFile::Lasts::after_power_loss);
}

Result<std::unique_ptr<AppendedFile>> AppendedFile::make(const std::string& path) {
  HEADRACE_TRY(check_path(path));
  const int descriptor = open_with_room(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return system_error("cannot create", path);
  return std::unique_ptr<AppendedFile>(new AppendedFile(path, descriptor));
}

AppendedFile::~AppendedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status AppendedFile::append(std::span<const std::byte> bytes) {
  size_ += bytes.size();
  const size_t room = kPiece - waiting_.size();
  if (bytes.size() < room) {
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    return {};
  }
  // Pieces begin and end at multiples of kPiece: pending bytes are filled up, whole pieces are not copied.
  if (!waiting_.empty()) {
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(room));
    bytes = bytes.subspan(room);
    HEADRACE_TRY(write(waiting_));
    waiting_.clear();
  }
  const size_t whole = bytes.size() / kPiece * kPiece;
  HEADRACE_TRY(write(bytes.first(whole)));
  waiting_.assign(bytes.begin() + static_cast<ptrdiff_t>(whole), bytes.end());
  return {};
}

Status AppendedFile::write(std::span<const std::byte> bytes) {
  HEADRACE_TRY(write_at(descriptor_, written_, bytes, path_));
  written_ += bytes.size();
  return {};
}

Status AppendedFile::flush() {
  HEADRACE_TRY(write(waiting_));
  waiting_.clear();
  return {};
}

Status AppendedFile::finish() {
  HEADRACE_TRY(flush());
  if (::close(std::exchange(descriptor_, -1)) != 0) return system_error("cannot write", path_);
  return {};
}

}  // namespace headrace
