// The line of each record in its file, if records are lines, or some are: only lines that are not records,
// and records of several lines, are stored, so nothing has to be read to find it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

class LineNumbers {
 public:
  // Called for the records in order. Lines are counted from 1.
  void add(uint64_t record, uint64_t line) {
    if (known_.empty() || of(record) != line) known_.push_back({record, line});
  }
  uint64_t of(uint64_t record) const;

  std::string pack() const;
  static std::optional<LineNumbers> unpack(std::string_view bytes);

 private:
  // The line of this record; the following records are in the following lines, up to the next entry.
  struct Known {
    uint64_t record = 0, line = 0;
  };
  std::vector<Known> known_;
};

}  // namespace headrace
