#include "headrace/core/buffer.h"

#include <cstdlib>
#include <new>

namespace headrace {

MutableBufferPtr HeapBuffer::make(size_t size) {
  const size_t rounded = (size + 63) / 64 * 64;
  void* data = std::aligned_alloc(64, rounded == 0 ? 64 : rounded);
  if (!data) throw std::bad_alloc();
  return MutableBufferPtr(new HeapBuffer(static_cast<std::byte*>(data), size));
}

HeapBuffer::~HeapBuffer() { std::free(data_); }

}  // namespace headrace
