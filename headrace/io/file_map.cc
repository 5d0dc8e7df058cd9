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

#include "headrace/io/page_table.h"

namespace headrace {

// What the handler knows about a map. For maps in use `begin` is the address; it is 0 in free slots, and
// kTaken while the other members change.
struct FileMap::Guard {
  static constexpr uintptr_t kTaken = 1;
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<uintptr_t> torn_begin{~uintptr_t{0}}, torn_end{0};  // around all pages that were replaced
  std::atomic<int> descriptor{-1};

  bool holds(uintptr_t address) const {
    const uintptr_t is = begin;
    return is > kTaken && is <= address && address < end && begin == is;
  }
  void tear(uintptr_t from, uintptr_t to) {
    for (uintptr_t is = torn_begin; from < is && !torn_begin.compare_exchange_weak(is, from);) continue;
    for (uintptr_t is = torn_end; to > is && !torn_end.compare_exchange_weak(is, to);) continue;
  }
  bool is_intact(uintptr_t from, uint64_t length) const {
    std::atomic_thread_fence(std::memory_order_acquire);  // after the reads of the pages
    if (torn_begin < from + length && from < torn_end) return false;
    struct stat s;
    return ::fstat(descriptor, &s) == 0 && static_cast<uint64_t>(s.st_size) >= from - begin + length;
  }
};

// The handler and all that it may access: fixed memory and atomics, since it may run at any instruction.
class Guards {
 public:
  using Guard = FileMap::Guard;

  // Whether a SIGBUS of a map would reach our handler. Checked for each map: it may have been replaced.
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
    (void)::sigaction(SIGBUS, &was, nullptr);  // replaced in between
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
      if (all_[i].holds(address)) return &all_[i];
    }
    return nullptr;
  }

 private:
  static void on_signal(int, siginfo_t* info, void*) {
    const int error = errno;
    const bool replaced = info->si_code == BUS_ADRERR && replace(reinterpret_cast<uintptr_t>(info->si_addr));
    errno = error;
    if (replaced) return;
    // Not ours: behave as if we were not installed. A fault repeats; a signal that was sent is sent again.
    (void)::signal(SIGBUS, SIG_DFL);
    if (info->si_code <= 0) (void)::raise(SIGBUS);
  }

  // Maps zeros for the page that is gone. It is marked as torn before any thread can see them.
  static bool replace(uintptr_t address) {
    Guard* guard = find(address);
    if (!guard) return false;
    const uintptr_t from = address & ~(page_ - 1);
    guard->tear(from, from + page_);
    // The bare system call: the mmap() of sanitizers is not safe in signal handlers.
    return ::syscall(SYS_mmap, from, page_.load(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                     0) != -1;
  }

  static bool is_ours(const struct sigaction& is) {
    return (is.sa_flags & SA_SIGINFO) != 0 && is.sa_sigaction == on_signal;
  }

  static constinit std::array<Guard, 1024> all_;
  static constinit std::atomic<size_t> used_;  // slots before this were in use at least once
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

FileMap::FileMap(const std::byte* data, uint64_t size, Guard* guard, std::shared_ptr<const void> owner)
    : data_(data),
      size_(size),
      guard_(guard),
      owner_(std::move(owner)),
      touched_(std::make_unique<Window[]>(size / kWindow + 1)),
      brings_one_(std::make_unique<std::atomic<bool>[]>(size / kRegion + 1)) {}

FileMap::~FileMap() {
  guard_->begin = 0;  // first, since what is mapped there next must not be replaced
  ::munmap(const_cast<std::byte*>(data_), size_);
}

template <class Visit> bool FileMap::each_window(uint64_t offset, uint64_t length, Visit visit) const {
  const uint64_t end = offset + length, page = std::min<uint64_t>(Guards::page(), kWindow);
  for (uint64_t byte = offset; byte < end;) {
    const uint64_t next = std::min(end, (byte / kWindow + 1) * kWindow);
    const uint64_t first = byte % kWindow / page, last = (next - 1) % kWindow / page;
    const auto bits = static_cast<uint16_t>((uint32_t{2} << last) - (uint32_t{1} << first));
    if (!visit(touched_[byte / kWindow], bits, byte, next)) return false;
    byte = next;
  }
  return true;
}

// Whether it is the first of its window.
bool FileMap::mark(Window& window, uint16_t bits) const {
  if (window.fetch_or(bits, std::memory_order_relaxed) != 0) return false;
  in_memory_.fetch_add(kWindow, std::memory_order_relaxed);
  return true;
}

void FileMap::touch(uint64_t offset, uint64_t length) const {
  bool any = false;
  each_window(offset, length, [&](Window& window, uint16_t bits, uint64_t begin, uint64_t end) {
    const auto at = [&](uint64_t byte) { (void)*static_cast<const volatile std::byte*>(data_ + byte); };
    for (uint64_t byte = begin; byte < end; byte += Guards::page()) at(byte);
    at(end - 1);
    any = mark(window, bits) || any;
    return true;
  });
  if (any) find_others(offset, offset + length);
}

// Counts pages that came with the touched bytes. Files in the page cache in large pieces come in whole
// pieces: a region where that failed once is not asked again.
void FileMap::find_others(uint64_t begin, uint64_t end) const {
  const uint64_t page = Guards::page();
  for (uint64_t region = begin / kRegion; region <= (end - 1) / kRegion; ++region) {
    const uint64_t first = region * kRegion, behind = std::min(size_, first + kRegion);
    if (page >= kWindow || brings_one_[region].load(std::memory_order_relaxed)) continue;
    // A window next to them that was not touched.
    const uint64_t after = (std::min(end, behind) + kWindow - 1) / kWindow * kWindow;
    const uint64_t before = std::max(begin, first) / kWindow * kWindow;
    const uint64_t beside = after < behind ? after : before > first ? before - kWindow : first;
    if (touched_[beside / kWindow].load(std::memory_order_relaxed) != 0) continue;
    std::array<bool, kRegion / 4096> is_there;
    const size_t pages = (behind - first + page - 1) / page;
    if (!look_up_pages(reinterpret_cast<uintptr_t>(data_) + first, page, std::span(is_there).first(pages)))
      continue;
    if (!is_there[(beside - first) / page]) {
      brings_one_[region].store(true, std::memory_order_relaxed);
      continue;
    }
    for (size_t i = 0; i < pages; ++i) {
      const uint64_t byte = first + i * page;
      if (is_there[i]) mark(touched_[byte / kWindow], static_cast<uint16_t>(1 << byte % kWindow / page));
    }
  }
}

bool FileMap::is_touched(uint64_t offset, uint64_t length) const {
  return each_window(offset, length, [](const Window& window, uint16_t bits, uint64_t, uint64_t) {
    return (window.load(std::memory_order_relaxed) & bits) == bits;
  });
}

bool FileMap::is_intact(uint64_t offset, uint64_t length) const {
  return guard_->is_intact(reinterpret_cast<uintptr_t>(data_) + offset, length);
}

void FileMap::drop_pages() const {
  for (uint64_t i = 0; i <= size_ / kWindow; ++i) touched_[i].store(0, std::memory_order_relaxed);
  for (uint64_t i = 0; i <= size_ / kRegion; ++i) brings_one_[i].store(false, std::memory_order_relaxed);
  in_memory_.store(0, std::memory_order_relaxed);
  (void)::madvise(const_cast<std::byte*>(data_), size_, MADV_DONTNEED);
}

bool is_mapped(const std::byte* byte) { return Guards::find(reinterpret_cast<uintptr_t>(byte)) != nullptr; }

Status check_intact(std::span<const std::byte> bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const FileMap::Guard* guard = Guards::find(begin);
  if (!guard || guard->is_intact(begin, bytes.size())) return {};
  return {Code::io, "expected " + std::to_string(bytes.size()) + " bytes at byte " +
                        std::to_string(begin - guard->begin) + " of " + name_of(guard->descriptor) +
                        ", but it became shorter or unreadable while it was read"};
}

void IntactOnes::add(std::span<const std::byte> bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const auto joins = [&](Stretch& s) {
    const bool is_same = s.guard->holds(begin);
    if (is_same) s.begin = std::min(s.begin, begin), s.end = std::max(s.end, begin + bytes.size());
    return is_same;
  };
  if (std::any_of(stretches_.rbegin(), stretches_.rend(), joins)) return;
  if (const FileMap::Guard* guard = Guards::find(begin))
    stretches_.push_back({guard, begin, begin + bytes.size()});
}

bool IntactOnes::are_intact() const {
  return std::ranges::all_of(stretches_,
                             [](const Stretch& s) { return s.guard->is_intact(s.begin, s.end - s.begin); });
}

}  // namespace headrace
