#include "headrace/run/measure/probe.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "headrace/codecs/crc32c.h"
#include "headrace/io/system.h"
#include "headrace/run/measure/counters.h"

namespace headrace {
namespace {

constexpr size_t kMemory = size_t{16} << 20;  // larger than the private caches of a core
constexpr size_t kFile = size_t{8} << 20, kPiece = size_t{128} << 10;
constexpr uint64_t kMostNs = 100'000'000;  // time limit for writing to a slow disk

double seconds_since(uint64_t begin) { return static_cast<double>(now_ns() - begin) * 1e-9; }

// A file without a name.
class Unnamed {
 public:
  explicit Unnamed(const std::string& folder) : path_(folder + "/probe-" + std::to_string(::getpid())) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor_ >= 0) ::unlink(path_.c_str());
  }
  ~Unnamed() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Unnamed(const Unnamed&) = delete;
  Unnamed& operator=(const Unnamed&) = delete;
  int descriptor() const { return descriptor_; }
  Status error() const { return system_error("cannot write", path_); }

 private:
  std::string path_;
  int descriptor_;
};

// Reads the whole file; returns seconds per byte, negative on failure.
double read_all(int file, size_t size, std::vector<std::byte>& piece) {
  const uint64_t begin = now_ns();
  uint32_t sum = 0;
  for (size_t done = 0; done < size; done += kPiece) {
    const size_t wanted = std::min(kPiece, size - done);
    if (::pread(file, piece.data(), wanted, static_cast<off_t>(done)) != static_cast<ssize_t>(wanted))
      return -1;
    sum ^= crc32c(std::span(piece).first(wanted));
  }
  piece[0] = static_cast<std::byte>(sum);
  return seconds_since(begin) / static_cast<double>(size);
}

}  // namespace

MemorySpeed probe_memory() {
  std::vector<std::byte> large(kMemory, std::byte{1}), piece(kPiece);
  MemorySpeed out;
  // Waiting for memory counts as CPU time of the thread, waiting for a core does not.
  const auto seconds_since = [](uint64_t begin) {
    return static_cast<double>(thread_cpu_ns() - begin) * 1e-9;
  };
  uint64_t begin = thread_cpu_ns();
  for (size_t done = 0; done < kMemory; done += kPiece)
    std::memcpy(piece.data(), large.data() + done, kPiece);
  out.read = seconds_since(begin) / static_cast<double>(kMemory);
  begin = thread_cpu_ns();
  for (size_t done = 0; done < kMemory; done += kPiece)
    std::memcpy(large.data() + done, piece.data(), kPiece);
  out.write = seconds_since(begin) / static_cast<double>(kMemory);
  return out;
}

Result<DiskSpeed> probe_disk(const std::string& folder) {
  const Unnamed file(folder);
  if (file.descriptor() < 0) return file.error();
  std::vector<std::byte> piece(kPiece);
  for (size_t i = 0; i < kPiece; ++i) piece[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  DiskSpeed out;
  const uint64_t begin = now_ns();
  size_t size = 0;
  while (size < kFile && now_ns() - begin < kMostNs) {
    if (::pwrite(file.descriptor(), piece.data(), kPiece, static_cast<off_t>(size)) !=
        static_cast<ssize_t>(kPiece))
      return file.error();
    size += kPiece;
  }
  if (::fdatasync(file.descriptor()) != 0) return file.error();
  out.write = seconds_since(begin) / static_cast<double>(size);
  out.read = read_all(file.descriptor(), size, piece);
  (void)::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  out.cold_read = read_all(file.descriptor(), size, piece);
  if (out.read < 0 || out.cold_read < 0) return file.error();
  return out;
}

}  // namespace headrace
