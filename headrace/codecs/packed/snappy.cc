#include <algorithm>
#include <cstring>

#include "headrace/codecs/packed/unpack.h"

namespace headrace {
namespace {

Status damaged_snappy(const std::string& why) { return corrupt("snappy: " + why); }

// A little-endian number of 0 to 4 bytes from the front; the caller has checked that they are there.
uint64_t take_bytes(std::span<const std::byte>& in, size_t count) {
  uint64_t value = 0;
  std::memcpy(&value, in.data(), count);
  in = in.subspan(count);
  return value;
}

// Copies bytes of the output, which may overlap what this writes.
void copy_back(std::byte* to, uint64_t offset, uint64_t length) {
  if (offset >= length) {
    std::memcpy(to, to - offset, length);
    return;
  }
  const std::byte* from = to - offset;
  for (uint64_t i = 0; i < length; ++i) to[i] = from[i];
}

}  // namespace

Status unpack_snappy(std::span<const std::byte> in, std::span<std::byte> out) {
  uint64_t size = 0;
  for (int shift = 0;; shift += 7) {
    if (in.empty() || shift > 28) return damaged_snappy("expected a size first");
    const uint64_t byte = take_bytes(in, 1);
    size |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  if (size != out.size())
    return damaged_snappy("expected " + std::to_string(out.size()) + " bytes, got " + std::to_string(size));
  size_t made = 0;
  while (!in.empty()) {
    const auto tag = static_cast<uint32_t>(take_bytes(in, 1));
    const uint32_t kind = tag & 3;
    uint64_t length = (tag >> 2) + 1, offset = 0;
    const size_t more = kind == 0 ? (length > 60 ? length - 60 : 0) : kind == 3 ? 4 : kind;
    if (more > in.size()) return damaged_snappy("ends inside a length");
    const uint64_t number = take_bytes(in, more);
    if (kind == 0 && more > 0) length = number + 1;
    if (kind == 1) length = 4 + (tag >> 2 & 7), offset = uint64_t{tag >> 5} << 8 | number;
    if (kind > 1) offset = number;
    if (length > out.size() - made) return damaged_snappy("holds more than it states");
    if (kind == 0) {
      if (length > in.size()) return damaged_snappy("ends inside its bytes");
      std::memcpy(out.data() + made, in.data(), length);
      in = in.subspan(length);
    } else {
      if (offset == 0 || offset > made) return damaged_snappy("copies from before its beginning");
      copy_back(out.data() + made, offset, length);
    }
    made += length;
  }
  return made == out.size() ? Status() : damaged_snappy("holds less than it states");
}

}  // namespace headrace
