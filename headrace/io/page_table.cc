#include "headrace/io/page_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>

namespace headrace {
namespace {

// Linux: 64 bits a page, of which the highest says that it is there
// (Documentation/admin-guide/mm/pagemap.rst).
constexpr int kPresent = 63;

// The table of the process that opened it: a child has its own.
int descriptor() {
  static std::mutex mutex;
  static pid_t owner = -1;
  static int file = -1;
  const std::lock_guard lock(mutex);
  if (const pid_t self = ::getpid(); owner != self) {
    if (file >= 0) ::close(file);
    file = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    owner = self;
  }
  return file;
}

}  // namespace

bool look_up_pages(uintptr_t begin, uintptr_t page, std::span<bool> present) {
  const int file = descriptor();
  if (file < 0) return false;
  std::array<uint64_t, 512> entries;
  for (size_t done = 0; done < present.size();) {
    const size_t some = std::min(entries.size(), present.size() - done);
    const auto at = static_cast<off_t>((begin / page + done) * sizeof(uint64_t));
    if (::pread(file, entries.data(), some * sizeof(uint64_t), at) !=
        static_cast<ssize_t>(some * sizeof(uint64_t)))
      return false;
    for (size_t i = 0; i < some; ++i) present[done + i] = entries[i] >> kPresent != 0;
    done += some;
  }
  return true;
}

}  // namespace headrace
