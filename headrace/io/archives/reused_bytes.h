// Thread-local memory for compressed bytes, reused; large blocks are freed. One at a time per thread.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace headrace {

class ReusedBytes {
 public:
  explicit ReusedBytes(size_t size) : bytes_(kept()), size_(size) {
    if (bytes_.size() < size) bytes_.resize(size);
  }
  ~ReusedBytes() {
    constexpr size_t kKept = size_t{1} << 20;
    if (bytes_.size() > kKept) std::vector<std::byte>().swap(bytes_);
  }
  ReusedBytes(const ReusedBytes&) = delete;
  ReusedBytes& operator=(const ReusedBytes&) = delete;
  std::span<std::byte> bytes() { return std::span(bytes_).first(size_); }

 private:
  static std::vector<std::byte>& kept() {
    thread_local std::vector<std::byte> bytes;
    return bytes;
  }
  std::vector<std::byte>& bytes_;
  size_t size_;
};

}  // namespace headrace
