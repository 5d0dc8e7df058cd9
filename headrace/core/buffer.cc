#include "headrace/core/buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace headrace {
namespace {

// From this size on the kernel is asked for large pages, as NumPy does: faulting in small pages one by one
// costs more than filling them.
constexpr size_t kLargePages = size_t{4} << 20, kPage = 4096;

}  // namespace

MutableBufferPtr HeapBuffer::make(size_t size) {
  const size_t rounded = (size + 63) / 64 * 64;
  void* data = std::aligned_alloc(64, rounded == 0 ? 64 : rounded);
  if (!data) throw std::bad_alloc();
  if (size >= kLargePages) {
    const size_t to_page = (kPage - reinterpret_cast<uintptr_t>(data) % kPage) % kPage;
    madvise(static_cast<std::byte*>(data) + to_page, rounded - to_page, MADV_HUGEPAGE);  // only advice
  }
  return MutableBufferPtr(new HeapBuffer(static_cast<std::byte*>(data), size));
}

HeapBuffer::~HeapBuffer() { std::free(data_); }

}  // namespace headrace
