// Reads FlatBuffers that may be hostile: every access is checked against the bytes, and only requested
// offsets are followed. Arrow's metadata is a FlatBuffer.
//
// A FlatTable borrows its bytes; it is a value and safe from any thread. An absent field has its default,
// as the format defines it; a damaged one is an error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "headrace/core/little_endian.h"
#include "headrace/core/status.h"

namespace headrace::arrow {

// Whether [offset, offset + length) lies within `size`; the sum cannot overflow.
inline bool within(uint64_t offset, uint64_t length, uint64_t size) {
  return offset <= size && length <= size - offset;
}

// `count` elements of a vector, contiguous from `bytes.data()` on.
struct FlatVector {
  std::span<const std::byte> bytes;  // from the first element to the end of the buffer
  uint64_t position = 0;             // of the first element in the buffer
  uint32_t count = 0;
};

class FlatTable {
 public:
  static Result<FlatTable> root(std::span<const std::byte> buffer);

  template <class T> Result<T> number(int field, T absent) const {
    HEADRACE_ASSIGN(const auto at, field_position(field, sizeof(T)));
    return at ? load<T>(buffer_, *at) : absent;
  }
  Result<std::optional<FlatTable>> table(int field) const;
  Result<std::string_view> text(int field) const;  // empty when absent
  // A vector of elements of `element_size` bytes, all of them within the buffer.
  Result<FlatVector> vector(int field, size_t element_size) const;
  // Element i of a vector of tables. REQUIRES: i < vector.count, element_size was 4.
  Result<FlatTable> element(const FlatVector& vector, uint32_t i) const;

 private:
  FlatTable(std::span<const std::byte> buffer, uint64_t table, uint64_t vtable, uint16_t vtable_size,
            uint16_t size)
      : buffer_(buffer), table_(table), vtable_(vtable), vtable_size_(vtable_size), size_(size) {}
  static Result<FlatTable> at(std::span<const std::byte> buffer, uint64_t position);
  Result<std::optional<uint64_t>> field_position(int field, size_t size) const;
  Result<std::optional<uint64_t>> follow(int field) const;

  std::span<const std::byte> buffer_;
  uint64_t table_, vtable_;
  uint16_t vtable_size_, size_;
};

}  // namespace headrace::arrow
