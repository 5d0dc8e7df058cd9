// In which line of its file a record stands, where records are lines, or some of them: lines that are none
// and records of several lines are remembered, so nothing has to be read to know.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

class LineNumbers {
 public:
  // Of the records, in their order. Lines are counted from 1.
  void add(uint64_t record, uint64_t line) {
    if (known_.empty() || of(record) != line) known_.push_back({record, line});
  }
  uint64_t of(uint64_t record) const;

  std::string pack() const;
  static std::optional<LineNumbers> unpack(std::string_view bytes);

 private:
  // The record stands in this line, and those behind it in the lines that follow, up to the next of these.
  struct Known {
    uint64_t record = 0, line = 0;
  };
  std::vector<Known> known_;
};

}  // namespace headrace
