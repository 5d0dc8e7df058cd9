// What parsers of records of text look for, found for many records of a buffer at once. One caller, who goes
// over them in their order.
#pragma once
#include <bit>
#include <string_view>
#include <vector>

#include "headrace/formats/records/record_files.h"
#include "headrace/kernels/mark_bytes.h"

namespace headrace {

// Records that lie side by side, as many as stay in the nearest cache with what is noted of them.
class Neighbours {
 public:
  explicit Neighbours(const RecordRun& run) : run_(run) {}

  // From here on it is about record `i` and those behind it; false where it was about that one before.
  bool cover(size_t i);
  std::string_view text() const { return text_; }  // all of them, and what lies between
  void look_for_utf8();                            // until others are covered
  // That record `i` is UTF-8, wherever it is cut at characters of ASCII; false where it may be all the same.
  bool is_utf8(size_t i) const {
    const std::string_view record = run_.text(i);  // no character goes on from one into the next
    return are_utf8_ && !record.empty() && (record.front() & 0xC0) != 0x80 && (record.back() & 0x80) == 0;
  }

 private:
  const RecordRun& run_;
  std::string_view text_;
  bool are_utf8_ = false;
};

// Where certain bytes stand in a text.
class Marks {
 public:
  explicit Marks(const kernels::WantedBytes& wanted) : wanted_(wanted) {}

  void mark(std::string_view text);  // from here on it is about this

  // The first that is wanted from `at` on; `end` when there is none. REQUIRES: both in the text.
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
