#include "headrace/kernels/copy_far.h"

#include <algorithm>
#include <cstring>

namespace headrace::kernels {

void copy_far(void* to, const void* from, size_t size) {
  constexpr size_t kPage = 4096, kMostPages = 8, kPiece = 128;  // bytes, of a page at a time
  auto* out = static_cast<std::byte*>(to);
  const auto* in = static_cast<const std::byte*>(from);
  while (size >= 2 * kPage) {
    const size_t pages = std::min(kMostPages, size / kPage);
    for (size_t at = 0; at < kPage; at += kPiece)
      for (size_t page = 0; page < pages; ++page)
        std::memcpy(out + page * kPage + at, in + page * kPage + at, kPiece);
    out += pages * kPage, in += pages * kPage, size -= pages * kPage;
  }
  if (size > 0) std::memcpy(out, in, size);
}

}  // namespace headrace::kernels
