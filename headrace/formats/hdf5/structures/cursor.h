// Reads an HDF5 structure from its bytes, little-endian, in file order. A read past the end returns zeros
// and makes ok() false from then on: a structure is read to its end and checked once, but a count that a
// loop or an allocation depends on is checked before.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "headrace/core/status.h"

namespace headrace::hdf5 {

// For HDF5 features that are not supported.
inline Status not_read(std::string what) { return {Code::unavailable, "cannot read " + std::move(what)}; }

inline constexpr uint64_t kNowhere = ~uint64_t{0};  // the undefined address

// Bytes of an address and of a length in this file: 2, 4 or 8.
struct Sizes {
  int address = 8, length = 8;
};

class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes, Sizes sizes = {}) : bytes_(bytes), sizes_(sizes) {}

  bool ok() const { return ok_; }
  // An error that names the structure if the bytes ended early.
  Status check(std::string_view what) const {
    if (ok_) return {};
    return corrupt("expected " + std::string(what) + ", but its data of " + std::to_string(bytes_.size()) +
                   " bytes ends in the middle");
  }
  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }
  Sizes sizes() const { return sizes_; }

  uint64_t number(int size) {  // of 0 to 8 bytes
    uint64_t out = 0;
    const auto bytes = take(static_cast<size_t>(size));
    if (!bytes.empty()) std::memcpy(&out, bytes.data(), std::min(bytes.size(), sizeof out));
    return out;
  }
  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  uint64_t length() { return number(sizes_.length); }
  uint64_t address() {  // kNowhere when all its bits are set, whatever its size
    const uint64_t out = number(sizes_.address);
    return ok_ && out == kNowhere >> (64 - 8 * sizes_.address) ? kNowhere : out;
  }
  void skip(size_t count) { (void)take(count); }
  void align(size_t to, size_t from = 0) { skip((to - (position_ - from) % to) % to); }
  // Empty if there are fewer.
  std::span<const std::byte> take(size_t count) {
    if (count > left()) {
      ok_ = false;
      position_ = bytes_.size();
      return {};
    }
    position_ += count;
    return bytes_.subspan(position_ - count, count);
  }
  std::string_view text(size_t count) {
    const auto bytes = take(count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  // Up to a NUL, which is skipped.
  std::string_view text_to_nul() {
    const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + position_;
    const size_t size = strnlen(begin, left());
    if (size == left()) ok_ = false;
    const std::string_view out = text(size);
    skip(1);
    return out;
  }
  bool signature(std::string_view wanted) { return text(wanted.size()) == wanted; }

 private:
  std::span<const std::byte> bytes_;
  Sizes sizes_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace headrace::hdf5
