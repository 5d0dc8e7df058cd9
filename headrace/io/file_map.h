// A file's bytes where the kernel has them: mapped for reading, and guarded.
//
// When a file that is mapped becomes shorter, or cannot be read, whoever looks at the pages that are gone
// gets a SIGBUS. Here he gets zeros, and is told when he asks: look first, then call is_intact() or
// check_intact(). The handler that does this stands only where the process has none; where it has one, there
// are no maps. The bytes are the file's, so they change when somebody writes into it. All functions may be
// called from any thread.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "headrace/core/status.h"

namespace headrace {

class FileMap {
 public:
  // What the kernel brings, at least, when one of its pages is looked at, if it has them; and at most, about.
  static constexpr uint64_t kWindow = 64 << 10, kRegion = 2 << 20;

  // The first `size` bytes of the file behind `descriptor`, which `owner` keeps open. Null when it cannot be
  // mapped or guarded.
  static std::shared_ptr<const FileMap> make(int descriptor, std::shared_ptr<const void> owner,
                                             uint64_t size);
  ~FileMap();
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;

  bool covers(uint64_t offset, uint64_t length) const { return offset <= size_ && length <= size_ - offset; }
  std::span<const std::byte> all() const { return {data_, size_}; }
  // REQUIRES: covered. As long as the map lives.
  std::span<const std::byte> bytes(uint64_t offset, uint64_t length) const {
    return {data_ + offset, length};
  }
  // Look at each page, so that nobody has to wait for them later. REQUIRES: covered.
  void touch(uint64_t offset, uint64_t length) const;
  // Whether each page was, or came with others, since the map was made or drop_pages(). REQUIRES: covered.
  bool is_touched(uint64_t offset, uint64_t length) const;
  // Whether all that was seen of these bytes was the file's, and the file still has them. REQUIRES: covered.
  bool is_intact(uint64_t offset, uint64_t length) const;
  // Bytes that came into the process's memory by it, and are there as far as is known; in windows.
  uint64_t in_memory() const { return in_memory_.load(std::memory_order_relaxed); }
  // Give the memory of all pages back; who looks again waits again, a little.
  void drop_pages() const;

  struct Guard;  // what the handler knows of a map

 private:
  using Window = std::atomic<uint16_t>;  // a bit for each of its pages

  FileMap(const std::byte* data, uint64_t size, Guard* guard, std::shared_ptr<const void> owner);
  void find_others(uint64_t begin, uint64_t end) const;
  bool mark(Window& window, uint16_t bits) const;
  // Calls visit(window, bits, begin, end) for the part of each window that these bytes are, until one says
  // false.
  template <class Visit> bool each_window(uint64_t offset, uint64_t length, Visit visit) const;

  const std::byte* data_;
  uint64_t size_;
  Guard* guard_;
  std::shared_ptr<const void> owner_;
  std::unique_ptr<Window[]> touched_;                // what of each window
  std::unique_ptr<std::atomic<bool>[]> brings_one_;  // of each region: known to bring windows alone
  mutable std::atomic<uint64_t> in_memory_ = 0;
};

// Whether a byte is one of a map's.
bool is_mapped(const std::byte* byte);
// The same as FileMap::is_intact() for who has the bytes alone, with the file's name; ok for bytes of no map.
// REQUIRES: somebody keeps them.
Status check_intact(std::span<const std::byte> bytes);

// Asks the same of many at once: a look at a file for all of its bytes, where they may be as many files as
// they like. What lies between those of one map must be intact too.
class IntactOnes {
 public:
  void add(std::span<const std::byte> bytes);
  bool are_intact() const;

 private:
  struct Stretch {
    const FileMap::Guard* guard;
    uintptr_t begin, end;
  };
  std::vector<Stretch> stretches_;  // one a map
};

}  // namespace headrace
