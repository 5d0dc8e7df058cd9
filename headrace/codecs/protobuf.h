// The wire format of protocol buffers: the fields of one message, in the order in which they are stored, in
// place.
//
//   for (WireReader reader(bytes, bytes.data()); reader.next(field);) …;  then reader.status("a Datum")
//
// Values; any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "headrace/core/status.h"

namespace headrace {

enum class Wire : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  uint64_t number = 0;
  Wire wire = Wire::varint;
  uint64_t value = 0;                // unless it is bytes
  std::span<const std::byte> bytes;  // of Wire::bytes
  bool is_bytes(uint64_t of) const { return wire == Wire::bytes && number == of; }
};

class WireReader {
 public:
  // `begin`: where the outermost message begins, for errors.
  WireReader(std::span<const std::byte> bytes, const std::byte* begin)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), begin_(begin) {}

  // False at the end, and where the bytes are not a message.
  bool next(WireField& out);
  // False where none is left, and where none is whole: of packed numbers.
  bool varint(uint64_t& out);

  // What stopped it, unless that was the end. `what` is what was expected: "a Datum".
  Status status(std::string_view what) const;

 private:
  bool fixed(size_t count, uint64_t& out);
  bool wrong(const char* wanted) { return wanted_ = wanted, false; }

  const std::byte *at_, *end_, *begin_;
  const char* wanted_ = nullptr;  // that was missing
};

inline void append_varint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline bool WireReader::varint(uint64_t& out) {
  if (at_ == end_ || wanted_) return false;
  out = std::to_integer<uint64_t>(*at_++);
  if (out < 0x80) return true;
  out &= 0x7f;
  for (int shift = 7; shift < 64 && at_ != end_; shift += 7) {
    const auto byte = std::to_integer<uint64_t>(*at_++);
    if (shift == 63 && byte > 1) break;
    out |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return wrong("a number of at most ten bytes");
}

inline bool WireReader::fixed(size_t count, uint64_t& out) {
  if (count > static_cast<size_t>(end_ - at_)) return wrong("a number inside the message");
  out = 0;
  std::memcpy(&out, at_, count);
  at_ += count;
  return true;
}

inline bool WireReader::next(WireField& out) {
  uint64_t tag = 0;
  if (!varint(tag)) return false;
  out.number = tag >> 3;
  if (out.number == 0) return wrong("a field number above 0");
  out.wire = static_cast<Wire>(tag & 7);
  switch (out.wire) {
    case Wire::varint: return varint(out.value) || wrong("a number of at most ten bytes");
    case Wire::fixed64: return fixed(8, out.value);
    case Wire::fixed32: return fixed(4, out.value);
    case Wire::bytes: break;
    default: return wrong("a valid wire type");
  }
  uint64_t length = 0;
  if (!varint(length)) return wrong("a number of at most ten bytes");
  if (length > static_cast<size_t>(end_ - at_)) return wrong("a field that ends inside the message");
  out.bytes = {at_, static_cast<size_t>(length)};
  at_ += length;
  return true;
}

}  // namespace headrace
