#include "headrace/formats/parquet/thrift.h"

#include <limits>

#include "headrace/formats/parquet/zigzag.h"

namespace headrace::parquet {
namespace {

constexpr int kMostLevels = 32;

}  // namespace

void Thrift::fail(const char* what) {
  if (wrong_) return;
  wrong_ = what, wrong_at_ = position_;
  position_ = bytes_.size();
}

Status Thrift::check(std::string_view what) const {
  if (ok()) return {};
  return corrupt({.expected = std::string(what),
                  .got = std::string(wrong_) + " at its byte " + std::to_string(wrong_at_)});
}

uint8_t Thrift::byte() {
  if (position_ < bytes_.size()) return std::to_integer<uint8_t>(bytes_[position_++]);
  if (ok()) is_cut_ = true;
  fail("the end of the bytes");
  return 0;
}

uint64_t Thrift::varint() {
  uint64_t out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t next = byte();
    const uint64_t bits = next & 0x7f;
    if (shift == 63 && bits > 1) break;
    out |= bits << shift;
    if (next < 0x80) return out;
  }
  fail("a number of more than 64 bits");
  return 0;
}

std::string_view Thrift::take(uint64_t size) {
  if (size > left()) {
    if (ok()) is_cut_ = true;
    fail("a string beyond its end");
    return {};
  }
  const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + position_;
  position_ += size;
  return {begin, size};
}

uint64_t Thrift::count(uint64_t size) {
  if (size <= left()) return size;
  if (ok()) is_cut_ = true;
  fail("a list beyond its end");
  return 0;
}

// REQUIRES for a bool: it is an element of a list, which has a byte; that of a field is in its type.
void Thrift::skip(uint8_t type, int depth) {
  if (depth > kMostLevels) return fail("structures nested too deeply");
  switch (type) {
    case kTrue:
    case kFalse:
    case kByte: byte(); return;
    case kI16:
    case kI32:
    case kI64: varint(); return;
    case kDouble: take(8); return;
    case kUuid: take(16); return;
    case kBinary: take(varint()); return;
    case kStruct:
      while (ok()) {
        const uint8_t head = byte();
        if ((head & 15) == kStop) return;
        if (head >> 4 == 0) varint();
        if ((head & 15) != kTrue && (head & 15) != kFalse) skip(head & 15, depth + 1);
      }
      return;
    case kList:
    case kSet: {
      const uint8_t head = byte();
      const uint64_t size = count(head >> 4 == 15 ? varint() : head >> 4);
      for (uint64_t i = 0; i < size && ok(); ++i) skip(head & 15, depth + 1);
      return;
    }
    case kMap: {
      const uint64_t size = count(varint());
      const uint8_t types = size == 0 ? 0 : byte();
      for (uint64_t i = 0; i < size && ok(); ++i) skip(types >> 4, depth + 1), skip(types & 15, depth + 1);
      return;
    }
    default: fail("an unknown type");
  }
}

bool Thrift::Fields::next() {
  const uint8_t head = in_.byte();
  type_ = head & 15;
  if (!in_.ok() || type_ == kStop) return false;
  const int64_t id = head >> 4 == 0 ? from_zigzag(in_.varint()) : id_ + (head >> 4);
  if (id < 0 || id > std::numeric_limits<int16_t>::max()) in_.fail("a field number out of range");
  id_ = static_cast<int>(id);
  return in_.ok();
}

int64_t Thrift::Fields::integer() {
  if (type_ == kByte) return static_cast<int8_t>(in_.byte());
  if (type_ >= kI16 && type_ <= kI64) return from_zigzag(in_.varint());
  in_.fail("a type other than a number");
  return 0;
}

int32_t Thrift::Fields::small() {
  const int64_t value = integer();
  if (value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max())
    return static_cast<int32_t>(value);
  in_.fail("a number of more than 32 bits");
  return 0;
}

bool Thrift::Fields::flag() {
  if (type_ != kTrue && type_ != kFalse) in_.fail("a type other than a bool");
  return type_ == kTrue;
}

std::string_view Thrift::Fields::text() {
  if (type_ == kBinary) return in_.take(in_.varint());
  in_.fail("a type other than a string");
  return {};
}

uint64_t Thrift::Fields::list(Type element) {
  if (type_ != kList) {
    in_.fail("a type other than a list");
    return 0;
  }
  const uint8_t head = in_.byte();
  const uint64_t size = in_.count(head >> 4 == 15 ? in_.varint() : head >> 4);
  if (size != 0 && (head & 15) != element) {
    in_.fail("a list with another element type");
    return 0;
  }
  return size;
}

bool Thrift::Fields::structure() {
  if (type_ != kStruct) in_.fail("a type other than a struct");
  return in_.ok();
}

void Thrift::Fields::skip() {
  if (type_ != kTrue && type_ != kFalse) in_.skip(type_, 0);
}

int64_t Thrift::element_integer() { return from_zigzag(varint()); }
std::string_view Thrift::element_text() { return take(varint()); }

}  // namespace headrace::parquet
