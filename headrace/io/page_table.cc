#include "headrace/io/page_table.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace headrace {
namespace {

// Linux: 64 bits per page, of which the highest is set when it is present
// (Documentation/admin-guide/mm/pagemap.rst).
constexpr int kPresent = 63;

}  // namespace

bool look_up_pages(uintptr_t begin, uintptr_t page, std::span<bool> present) {
  // Opened each time: a child process has a table of its own, and may close descriptors that it did not open.
  const int file = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<uint64_t, 512> entries;
  size_t done = 0;
  while (done < present.size()) {
    const size_t some = std::min(entries.size(), present.size() - done);
    const auto at = static_cast<off_t>((begin / page + done) * sizeof(uint64_t));
    if (::pread(file, entries.data(), some * sizeof(uint64_t), at) !=
        static_cast<ssize_t>(some * sizeof(uint64_t)))
      break;
    for (size_t i = 0; i < some; ++i) present[done + i] = entries[i] >> kPresent != 0;
    done += some;
  }
  ::close(file);
  return done == present.size();
}

}  // namespace headrace
