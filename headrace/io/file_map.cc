#include "headrace/io/file_map.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <string>

namespace headrace {

// What the handler knows of a map. Of those in use `begin` is its address; 0 where there is none, kTaken
// while the other members change.
struct FileMap::Guard {
  static constexpr uintptr_t kTaken = 1;
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<uintptr_t> torn_begin{~uintptr_t{0}}, torn_end{0};  // around all pages that were replaced
  std::atomic<int> descriptor{-1};

  void tear(uintptr_t from, uintptr_t to) {
    for (uintptr_t is = torn_begin; from < is && !torn_begin.compare_exchange_weak(is, from);) continue;
    for (uintptr_t is = torn_end; to > is && !torn_end.compare_exchange_weak(is, to);) continue;
  }
  bool is_intact(uintptr_t from, uint64_t length) const {
    if (torn_begin < from + length && from < torn_end) return false;
    struct stat s;
    return ::fstat(descriptor, &s) == 0 && static_cast<uint64_t>(s.st_size) >= from - begin + length;
  }
};

// The handler and all that it may look at: fixed places and atomics, since it may run at any instruction.
class Guards {
 public:
  using Guard = FileMap::Guard;

  // Whether a SIGBUS of a map would come to us. Asked anew for each map: somebody may have taken it over.
  static bool stand() {
    struct sigaction is;
    if (::sigaction(SIGBUS, nullptr, &is) != 0) return false;
    if (is_ours(is)) return true;
    if ((is.sa_flags & SA_SIGINFO) != 0 || is.sa_handler != SIG_DFL) return false;
    struct sigaction ours = {}, was;
    ours.sa_sigaction = on_signal;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    page_ = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    if (::sigaction(SIGBUS, &ours, &was) != 0) return false;
    const bool was_free = (was.sa_flags & SA_SIGINFO) == 0 && was.sa_handler == SIG_DFL;
    if (was_free || is_ours(was)) return true;
    (void)::sigaction(SIGBUS, &was, nullptr);  // came in between
    return false;
  }

  static uintptr_t page() { return page_; }

  static Guard* take(uintptr_t begin, uintptr_t end, int descriptor) {
    for (size_t i = 0; i < all_.size(); ++i) {
      uintptr_t nobody = 0;
      Guard& guard = all_[i];
      if (!guard.begin.compare_exchange_strong(nobody, Guard::kTaken)) continue;
      guard.end = end, guard.torn_begin = ~uintptr_t{0}, guard.torn_end = 0, guard.descriptor = descriptor;
      guard.begin = begin;
      for (size_t used = used_; used < i + 1 && !used_.compare_exchange_weak(used, i + 1);) continue;
      return &guard;
    }
    return nullptr;
  }

  // The guard of the map that holds an address, or null.
  static Guard* find(uintptr_t address) {
    const size_t used = used_;
    for (size_t i = 0; i < used; ++i) {
      Guard& guard = all_[i];
      const uintptr_t begin = guard.begin;
      if (begin > Guard::kTaken && begin <= address && address < guard.end && guard.begin == begin)
        return &guard;
    }
    return nullptr;
  }

 private:
  static void on_signal(int, siginfo_t* info, void*) {
    const int error = errno;
    const bool replaced = info->si_code == BUS_ADRERR && replace(reinterpret_cast<uintptr_t>(info->si_addr));
    errno = error;
    if (replaced) return;
    // Not ours: as if we were not here. What faulted does so again; what was sent is sent again.
    (void)::signal(SIGBUS, SIG_DFL);
    if (info->si_code <= 0) (void)::raise(SIGBUS);
  }

  // Zeros for the page that is gone. It is known as torn before anybody can see them.
  static bool replace(uintptr_t address) {
    Guard* guard = find(address);
    if (!guard) return false;
    const uintptr_t from = address & ~(page_ - 1);
    guard->tear(from, from + page_);
    // The bare call: what sanitizers put in the place of mmap() is not for handlers.
    return ::syscall(SYS_mmap, from, page_.load(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                     0) != -1;
  }

  static bool is_ours(const struct sigaction& is) {
    return (is.sa_flags & SA_SIGINFO) != 0 && is.sa_sigaction == on_signal;
  }

  static constinit std::array<Guard, 1024> all_;
  static constinit std::atomic<size_t> used_;  // the first so many were in use, at least once
  static constinit std::atomic<uintptr_t> page_;
};

constinit std::array<FileMap::Guard, 1024> Guards::all_;
constinit std::atomic<size_t> Guards::used_ = 0;
constinit std::atomic<uintptr_t> Guards::page_ = 4096;

namespace {

std::string name_of(int descriptor) {
  std::array<char, PATH_MAX> name;
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), name.data(), name.size());
  return length < 0 ? "a file" : "'" + std::string(name.data(), static_cast<size_t>(length)) + "'";
}

}  // namespace

std::shared_ptr<const FileMap> FileMap::make(int descriptor, std::shared_ptr<const void> owner,
                                             uint64_t size) {
  if (size == 0 || !Guards::stand()) return nullptr;
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  Guard* guard = Guards::take(begin, begin + size, descriptor);
  if (!guard) {
    ::munmap(data, size);
    return nullptr;
  }
  return std::shared_ptr<const FileMap>(
      new FileMap(static_cast<const std::byte*>(data), size, guard, std::move(owner)));
}

FileMap::~FileMap() {
  guard_->begin = 0;  // first, since what comes to lie there is nothing to replace
  ::munmap(const_cast<std::byte*>(data_), size_);
}

void FileMap::touch(uint64_t offset, uint64_t length) const {
  const auto at = [&](uint64_t byte) { (void)*static_cast<const volatile std::byte*>(data_ + byte); };
  for (uint64_t byte = offset; byte < offset + length; byte += Guards::page()) at(byte);
  if (length > 0) at(offset + length - 1);
}

bool FileMap::is_intact(uint64_t offset, uint64_t length) const {
  return guard_->is_intact(reinterpret_cast<uintptr_t>(data_) + offset, length);
}

void FileMap::drop_pages() const { (void)::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED); }

bool is_mapped(const std::byte* byte) { return Guards::find(reinterpret_cast<uintptr_t>(byte)) != nullptr; }

Status check_intact(std::span<const std::byte> bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const FileMap::Guard* guard = Guards::find(begin);
  if (!guard || guard->is_intact(begin, bytes.size())) return {};
  return {Code::io, "wants " + std::to_string(bytes.size()) + " bytes at byte " +
                        std::to_string(begin - guard->begin) + " of " + name_of(guard->descriptor) +
                        ", which became shorter or unreadable while it was read"};
}

}  // namespace headrace
