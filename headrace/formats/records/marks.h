// Searches that parsers of text records need, done for many records of a buffer at once. One caller, which
// visits the records in order.
#pragma once
#include <bit>
#include <string_view>
#include <vector>

#include "headrace/formats/records/record_files.h"
#include "headrace/kernels/mark_bytes.h"

namespace headrace {

// Adjacent records, as many as fit in the L1 cache together with their marks.
class Neighbours {
 public:
  explicit Neighbours(const RecordRun& run) : run_(run) {}

  // Moves on to record `i` and those after it; false if it was covered already.
  bool cover(size_t i);
  std::string_view text() const { return text_; }  // all of them, including the bytes in between
  void look_for_utf8();                            // valid until others are covered
  // Whether record `i` is UTF-8, if cut at ASCII characters; false does not mean that it is not.
  bool is_utf8(size_t i) const {
    const std::string_view record = run_.text(i);  // no character spans two records
    return are_utf8_ && !record.empty() && (record.front() & 0xC0) != 0x80 && (record.back() & 0x80) == 0;
  }

 private:
  const RecordRun& run_;
  std::string_view text_;
  bool are_utf8_ = false;
};

// The positions of certain bytes in a string.
class Marks {
 public:
  explicit Marks(const kernels::WantedBytes& wanted) : wanted_(wanted) {}

  void mark(std::string_view text);  // next() refers to this string from now on

  // The first wanted byte from `at` on; `end` if there is none. REQUIRES: both are in the string.
  const char* next(const char* at, const char* end) const {
    if (at >= end) return end;
    const auto first = static_cast<size_t>(at - begin_), last = static_cast<size_t>(end - 1 - begin_) / 64;
    size_t word = first / 64;
    uint64_t bits = bits_[word] & (~uint64_t{0} << (first % 64));
    while (bits == 0) {
      if (word == last) return end;
      bits = bits_[++word];
    }
    const char* const found = begin_ + word * 64 + static_cast<size_t>(std::countr_zero(bits));
    return found < end ? found : end;
  }

 private:
  const kernels::WantedBytes wanted_;
  const char* begin_ = nullptr;
  std::vector<uint64_t> bits_;
};

}  // namespace headrace
