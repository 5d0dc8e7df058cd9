// Bytes with an owner: heap, pool block, mapped file, Python object. Shared between threads once filled.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace headrace {

class Buffer {
 public:
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  const std::byte* data() const { return data_; }
  std::byte* mutable_data() { return data_; }  // only while the code that fills it is the sole owner
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 protected:
  Buffer(std::byte* data, size_t size) : data_(data), size_(size) {}
  std::byte* data_;
  size_t size_;
};

using BufferPtr = std::shared_ptr<const Buffer>;
using MutableBufferPtr = std::shared_ptr<Buffer>;

// Plain heap memory, 64-byte aligned, outside every budget: constants, indexes, tests.
class HeapBuffer final : public Buffer {
 public:
  static MutableBufferPtr make(size_t size);
  ~HeapBuffer() override;

 private:
  using Buffer::Buffer;
};

// Bytes inside memory that `owner` keeps alive.
class BorrowedBuffer final : public Buffer {
 public:
  BorrowedBuffer(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : Buffer(const_cast<std::byte*>(bytes.data()), bytes.size()), owner_(std::move(owner)) {}

 private:
  std::shared_ptr<const void> owner_;
};

}  // namespace headrace
