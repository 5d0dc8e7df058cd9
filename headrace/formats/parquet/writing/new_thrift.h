// Writes Thrift's compact protocol.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/parquet/zigzag.h"

namespace headrace::parquet {

// Fields of a structure must be written in the order of their numbers. Each begin() needs an end().
class NewThrift {
 public:
  NewThrift() { last_.push_back(0); }

  void number(int field, int64_t value) { head(field, kI64), zigzag(value); }
  void small(int field, int32_t value) { head(field, kI32), zigzag(value); }
  void byte(int field, int8_t value) { head(field, kByte), out_.push_back(static_cast<char>(value)); }
  void flag(int field, bool value) { head(field, value ? kTrue : kFalse); }
  void text(int field, std::string_view value) { head(field, kBinary), put_text(value); }
  void begin(int field) { head(field, kStruct), last_.push_back(0); }
  void end() { out_.push_back(0), last_.pop_back(); }

  // Elements follow: structures by begin_element() and end(), others by element().
  void list_of_structures(int field, size_t size) { list(field, size, kStruct); }
  void list_of_numbers(int field, size_t size) { list(field, size, kI32); }
  void list_of_texts(int field, size_t size) { list(field, size, kBinary); }
  void begin_element() { last_.push_back(0); }
  void element(int32_t value) { zigzag(value); }
  void element(std::string_view value) { put_text(value); }

  // The bytes of the outermost structure.
  std::string finish() && {
    out_.push_back(0);
    return std::move(out_);
  }

 private:
  enum Type : uint8_t {
    kTrue = 1,
    kFalse = 2,
    kByte = 3,
    kI32 = 5,
    kI64 = 6,
    kBinary = 8,
    kList = 9,
    kStruct = 12
  };

  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<char>(value | 0x80));
    out_.push_back(static_cast<char>(value));
  }
  void zigzag(int64_t value) { varint(in_zigzag(value)); }
  void put_text(std::string_view value) { varint(value.size()), out_ += value; }
  void head(int field, Type type) {
    const int step = field - last_.back();
    last_.back() = field;
    if (step > 0 && step < 16) return out_.push_back(static_cast<char>(step << 4 | type));
    out_.push_back(static_cast<char>(type));
    zigzag(field);
  }
  void list(int field, size_t size, Type type) {
    head(field, kList);
    if (size < 15) return out_.push_back(static_cast<char>(size << 4 | type));
    out_.push_back(static_cast<char>(0xf0 | type));
    varint(size);
  }

  std::string out_;
  std::vector<int> last_;
};

}  // namespace headrace::parquet
