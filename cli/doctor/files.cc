#include "cli/doctor/files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>

#include "headrace/formats/index/sidecar.h"
#include "headrace/io/system.h"

namespace headrace::cli {
namespace {

constexpr uint64_t kPage = 4096;

constexpr std::array<int, 3> kInterruptions{SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, 3> before;       // previous actions, while there is a ScratchFolder
volatile std::sig_atomic_t interruption = 0;  // the last signal since then

// Drops the pages that these bytes touch: the system does not drop parts of pages.
void give_up(int descriptor, uint64_t offset, uint64_t length) {
  const uint64_t begin = offset / kPage * kPage, end = (offset + length + kPage - 1) / kPage * kPage;
  (void)::posix_fadvise(descriptor, static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                        POSIX_FADV_DONTNEED);
}

// The user's cache folder, then the folder for temporary files.
std::vector<std::string> folders() {
  std::vector<std::string> out;
  if (const SidecarPlace place("doctor"); !place.path().empty()) out.push_back(place.folder());
  const char* temporary = std::getenv("TMPDIR");
  out.emplace_back(temporary && temporary[0] == '/' ? temporary : "/tmp");
  return out;
}

std::optional<dev_t> disk_of(const std::string& path) {
  struct stat s;
  return ::stat(path.c_str(), &s) == 0 ? std::optional(s.st_dev) : std::nullopt;
}

bool has_room(const std::string& folder, uint64_t bytes) {
  constexpr uint64_t kLeft = uint64_t{256} << 20;  // for other programs that write there
  struct statvfs s;
  return ::statvfs(folder.c_str(), &s) == 0 && s.f_bavail * s.f_frsize >= bytes + kLeft;
}

// Those on `disk` first.
std::vector<std::string> folders_with_room(std::optional<dev_t> disk, uint64_t bytes) {
  std::vector<std::string> out;
  for (const std::string& folder : folders()) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), ignored);
    (void)::mkdir(folder.c_str(), 0700);  // as sidecars require; an existing one is fine
    if (has_room(folder, bytes)) out.push_back(folder);
  }
  std::ranges::stable_partition(out,
                                [&](const std::string& folder) { return disk && disk_of(folder) == disk; });
  return out;
}

Status no_room() {
  return {Code::io, "neither the cache folder nor the folder for temporary files has room for a copy"};
}

// -1 on failure.
int open_nameless(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0) return descriptor;
  // Network file systems do not support O_TMPFILE: create a named file and unlink it at once.
  std::string name = folder + "/doctor.XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

class WatchedStore::File final : public OpenFile {
 public:
  File(WatchedStore& store, size_t ordinal, std::unique_ptr<OpenFile> file)
      : store_(store), ordinal_(ordinal), file_(std::move(file)) {}
  Result<uint64_t> size() override { return file_->size(); }
  Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
    auto count = file_->read(offset, out);
    if (count.ok() && *count > 0) store_.pieces_.push_back({ordinal_, offset, *count});
    return count;
  }

 private:
  WatchedStore& store_;
  size_t ordinal_;
  std::unique_ptr<OpenFile> file_;
};

Result<std::unique_ptr<OpenFile>> WatchedStore::open(const std::string& path) {
  HEADRACE_ASSIGN(std::unique_ptr<OpenFile> file, store_->open(path));
  const auto [known, is_new] = ordinals_.try_emplace(path, files_.size());
  if (is_new) files_.push_back(path);
  return std::unique_ptr<OpenFile>(std::make_unique<File>(*this, known->second, std::move(file)));
}

std::vector<Piece> WatchedStore::take() { return std::exchange(pieces_, {}); }

void forget(const std::vector<std::string>& files, std::span<const std::vector<Piece>> samples) {
  int descriptor = -1;
  size_t opened = files.size();
  for (const std::vector<Piece>& sample : samples)
    for (const Piece& piece : sample) {
      if (piece.file != opened) {
        if (descriptor >= 0) ::close(descriptor);
        descriptor = ::open(files[piece.file].c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        opened = piece.file;
      }
      if (descriptor >= 0) give_up(descriptor, piece.offset, piece.length);
    }
  if (descriptor >= 0) ::close(descriptor);
}

double process_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

uint64_t bytes_from_disk() {
  struct rusage usage{};
  (void)::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_inblock) * 512;
}

ScratchFile::ScratchFile(int descriptor, std::string folder, bool on_same_disk)
    : descriptor_(descriptor), folder_(std::move(folder)), on_same_disk_(on_same_disk) {
  constexpr int64_t kTmpfs = 0x01021994, kRamfs = 0x858458f6;
  struct statfs s;
  if (::fstatfs(descriptor, &s) == 0) in_memory_ = s.f_type == kTmpfs || s.f_type == kRamfs;
}

ScratchFile::~ScratchFile() { ::close(descriptor_); }

Result<std::unique_ptr<ScratchFile>> ScratchFile::make(const std::string& path, uint64_t bytes) {
  const auto disk = disk_of(path);
  for (const std::string& folder : folders_with_room(disk, bytes))
    if (const int descriptor = open_nameless(folder); descriptor >= 0)
      return std::unique_ptr<ScratchFile>(
          new ScratchFile(descriptor, folder, disk && disk_of(folder) == disk));
  return no_room();
}

Status ScratchFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return system_error("cannot write a temporary file in", folder_);
    size_ += static_cast<uint64_t>(count), bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return {};
}

Status ScratchFile::finish() {
  if (::fdatasync(descriptor_) == 0) return {};
  return system_error("cannot write a temporary file in", folder_);
}

void ScratchFile::forget() { give_up(descriptor_, 0, size_); }

Status ScratchFile::read(uint64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return system_error("cannot read a temporary file in", folder_);
    offset += static_cast<uint64_t>(count), out = out.subspan(static_cast<size_t>(count));
  }
  return {};
}

Result<std::unique_ptr<ScratchFolder>> ScratchFolder::make(const std::string& path, uint64_t bytes) {
  std::unique_ptr<ScratchFolder> out(new ScratchFolder);  // handles signals before there is a folder
  for (const std::string& folder : folders_with_room(disk_of(path), bytes)) {
    out->path_ = folder + "/doctor.XXXXXX";
    if (::mkdtemp(out->path_.data())) return out;
  }
  out->path_.clear();
  return no_room();
}

ScratchFolder::ScratchFolder() {
  struct sigaction put_off{};
  put_off.sa_handler = [](int signal) { interruption = signal; };
  for (size_t i = 0; i < kInterruptions.size(); ++i) {
    (void)::sigaction(kInterruptions[i], nullptr, &before[i]);
    // An ignored signal stays ignored: shells start background jobs that way.
    if (before[i].sa_handler != SIG_IGN) (void)::sigaction(kInterruptions[i], &put_off, nullptr);
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  for (size_t i = 0; i < kInterruptions.size(); ++i)
    (void)::sigaction(kInterruptions[i], &before[i], nullptr);
  if (interruption != 0) (void)::raise(interruption);
}

bool ScratchFolder::is_interrupted() { return interruption != 0; }

}  // namespace headrace::cli
