// Reads Thrift's compact protocol, which Parquet's metadata is written in, from bytes that may be hostile.
//
// A read past the end, or of a type other than the stored one, returns zero and makes ok() false from then
// on: a structure is read to its end and checked once. The stated length of a list is checked against the
// bytes that are left before it is iterated. Borrows its bytes.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "headrace/core/status.h"

namespace headrace::parquet {

class Thrift {
 public:
  enum Type : uint8_t {
    kStop = 0,
    kTrue = 1,
    kFalse = 2,
    kByte = 3,
    kI16 = 4,
    kI32 = 5,
    kI64 = 6,
    kDouble = 7,
    kBinary = 8,
    kList = 9,
    kSet = 10,
    kMap = 11,
    kStruct = 12,
    kUuid = 13,
  };

  explicit Thrift(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return wrong_ == nullptr; }
  // Whether it may be valid with more bytes.
  bool is_cut() const { return is_cut_; }
  Status check(std::string_view what) const;
  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }

  // Iterates over the fields of the structure that begins here; each must be read or skipped.
  class Fields {
   public:
    explicit Fields(Thrift& in) : in_(in) {}
    bool next();  // false at the end, and after an error
    int id() const { return id_; }
    // The value of this field.
    int64_t integer();  // of 8 to 64 bits
    int32_t small();    // one that must fit 32 bits
    bool flag();
    std::string_view text();
    // The number of elements that follow, each at least a byte long.
    uint64_t list(Type element);
    bool structure();  // true: read its Fields next
    void skip();

   private:
    Thrift& in_;
    int id_ = 0;
    uint8_t type_ = kStop;
  };

  // Elements of a list, after Fields::list().
  int64_t element_integer();
  std::string_view element_text();

  void fail(const char* what);

 private:
  uint8_t byte();
  uint64_t varint();
  std::string_view take(uint64_t size);
  void skip(uint8_t type, int depth);
  uint64_t count(uint64_t size);

  std::span<const std::byte> bytes_;
  size_t position_ = 0, wrong_at_ = 0;
  const char* wrong_ = nullptr;
  bool is_cut_ = false;
};

}  // namespace headrace::parquet
