// Whether a column of CSV or JSON lines is read as strings because of a few fields: statistics gathered while
// the index is made, and the note about it. Any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/dtype.h"

namespace headrace {

// Fields are counted as long as it is possible that only a few are not numbers.
struct MostlyNumbers {
  uint64_t num_numbers = 0, num_texts = 0;  // of the counted fields
  bool is_of_texts = false;                 // most are not numbers: counting has stopped
  uint64_t text_line = 0;                   // of the first field that is not a number
  std::string text;                         // its beginning
  std::string text_path;                    // its file; "" before merge()

  void see_number() { ++num_numbers; }
  void see_text(std::string_view field, uint64_t line);
  void merge(const MostlyNumbers& later, const std::string& path_of_later);
  bool is_mostly_numbers() const;  // yet read as strings
  // Which field made column `name` one of strings, and what dtypes= does about it, where `numbers` is the
  // dtype of its numbers; "" if it is not mostly numbers.
  std::string note(const std::string& name, DType numbers) const;
  bool operator==(const MostlyNumbers&) const = default;
};

// The first of them, and how many more there are.
std::vector<std::string> first_notes(std::vector<std::string> notes);

// A field for a message: its beginning, in quotes.
std::string shown_field(std::string_view field);

}  // namespace headrace
