// Whether a column of CSV or of JSON lines is text for the sake of few fields: what was seen of it while the
// index was made, and what to say of it. Any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/dtype.h"

namespace headrace {

// Fields are looked at as long as it may be said that few are no numbers.
struct MostlyNumbers {
  uint64_t num_numbers = 0, num_texts = 0;  // of the fields that were looked at
  bool is_of_texts = false;                 // most are none: others are not looked at
  uint64_t text_line = 0;                   // of the first that is no number
  std::string text;                         // its beginning
  std::string text_path;                    // its file; "" before merge()

  void see_number() { ++num_numbers; }
  void see_text(std::string_view field, uint64_t line);
  void merge(const MostlyNumbers& later, const std::string& path_of_later);
  bool is_mostly_numbers() const;  // and text
  // "" where it is not: which field made column `name` text, and what dtypes= makes of it, where its numbers
  // are of `numbers`.
  std::string note(const std::string& name, DType numbers) const;
  bool operator==(const MostlyNumbers&) const = default;
};

// The first of them, and how many more there are.
std::vector<std::string> first_notes(std::vector<std::string> notes);

// A field for a message: its beginning, in quotes.
std::string shown_field(std::string_view field);

}  // namespace headrace
