// A file's bytes as the kernel has them: mapped for reading, and guarded.
//
// When a mapped file is truncated or cannot be read, a thread that reads the missing pages gets a SIGBUS.
// Here it gets zeros instead, and can find out afterwards: read first, then call is_intact() or
// check_intact(). The signal handler is installed only where the process has none; where it has one, there
// are no maps. The bytes are the file's, so they change when the file is written to. All functions may be
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
  // What the kernel maps, at least, when one of its pages is read, if it has them; and at most, about.
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
  // Touches each page, so that later reads do not wait. REQUIRES: covered.
  void touch(uint64_t offset, uint64_t length) const;
  // Whether each page was touched, or came with others, since the map was made or drop_pages(). REQUIRES:
  // covered.
  bool is_touched(uint64_t offset, uint64_t length) const;
  // Whether all bytes seen in this range were the file's, and the file still has them. REQUIRES: covered.
  bool is_intact(uint64_t offset, uint64_t length) const;
  // Bytes that this map brought into the process's memory, as far as is known; in whole windows.
  uint64_t in_memory() const { return in_memory_.load(std::memory_order_relaxed); }
  // Gives the memory of all pages back; later reads fault them in again.
  void drop_pages() const;

  struct Guard;  // what the handler knows about a map

 private:
  using Window = std::atomic<uint16_t>;  // a bit for each of its pages

  FileMap(const std::byte* data, uint64_t size, Guard* guard, std::shared_ptr<const void> owner);
  void find_others(uint64_t begin, uint64_t end) const;
  bool mark(Window& window, uint16_t bits) const;
  // Calls visit(window, bits, begin, end) for the part of each window in this range, until one returns false.
  template <class Visit> bool each_window(uint64_t offset, uint64_t length, Visit visit) const;

  const std::byte* data_;
  uint64_t size_;
  Guard* guard_;
  std::shared_ptr<const void> owner_;
  std::unique_ptr<Window[]> touched_;                // pages of each window
  std::unique_ptr<std::atomic<bool>[]> brings_one_;  // per region: known to bring single windows only
  mutable std::atomic<uint64_t> in_memory_ = 0;
};

// Whether a byte belongs to a map.
bool is_mapped(const std::byte* byte);
// As FileMap::is_intact() for callers that have the bytes alone, with the file's name in the error; ok for
// bytes of no map. REQUIRES: the bytes are kept alive.
Status check_intact(std::span<const std::byte> bytes);

// Checks many ranges at once: one check per map for all of its bytes, in any number of files. The bytes
// between ranges of one map must be intact too.
class IntactOnes {
 public:
  void add(std::span<const std::byte> bytes);
  bool are_intact() const;

 private:
  struct Stretch {
    const FileMap::Guard* guard;
    uintptr_t begin, end;
  };
  std::vector<Stretch> stretches_;  // one per map
};

}  // namespace headrace
