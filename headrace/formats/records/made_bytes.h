// Memory for field values that are computed rather than shared with the file: a few buffers for many rows
// instead of one per row. One caller.
#pragma once
#include <algorithm>

#include "headrace/core/tensor.h"

namespace headrace {

class MadeBytes {
 public:
  // `total`: an estimate of all memory that will be taken.
  explicit MadeBytes(size_t total) : chunk_(std::min(total, kChunk)) {}

  // Room for `size` bytes, aligned to eight; buffer() and offset_of() then refer to it.
  std::byte* take(size_t size) {
    used_ = (used_ + kAlign - 1) / kAlign * kAlign;
    if (!buffer_ || used_ > buffer_->size() || size > buffer_->size() - used_) {
      const MutableBufferPtr made = HeapBuffer::make(std::max({size, chunk_, size_t{1}}));
      begin_ = made->mutable_data(), buffer_ = made, used_ = 0;
    }
    used_ += size;
    return begin_ + (used_ - size);
  }
  // Shrinks what was taken last.
  void give_back(size_t size) { used_ -= size; }

  const BufferPtr& buffer() const { return buffer_; }
  size_t offset_of(const std::byte* taken) const { return static_cast<size_t>(taken - begin_); }

 private:
  static constexpr size_t kChunk = 64 << 10;  // the size of a combined read
  static constexpr size_t kAlign = 8;

  size_t chunk_, used_ = 0;
  BufferPtr buffer_;
  std::byte* begin_ = nullptr;  // of it
};

// Sets a string that is part of a buffer, whatever the tensor was before.
inline void set_text(Tensor& out, const BufferPtr& buffer, size_t offset, DType dtype, size_t size) {
  static const Shape kOneDimension = {0};  // copying and setting it is cheaper than constructing a shape
  out.buffer = buffer, out.offset = offset, out.dtype = dtype, out.rows = nullptr;
  out.shape = kOneDimension;
  out.shape.set(0, static_cast<int64_t>(size));
}

}  // namespace headrace
