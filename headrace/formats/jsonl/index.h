// The index of a file of JSON lines: their positions, and the fields of their objects.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "headrace/formats/jsonl/fields.h"
#include "headrace/formats/records/line_numbers.h"
#include "headrace/formats/records/whole_walk.h"

namespace headrace {

// What a file's index keeps besides the positions of lines.
struct JsonlContents {
  JsonFields fields;
  LineNumbers lines;
  bool has_more_fields = false;  // more than JsonFields has room for
  std::string refused;           // the error of the first line that is not an object, with its number

  std::string pack() const;
  static std::optional<JsonlContents> unpack(std::string_view bytes);
};

// Blank lines are skipped. FileIndex::extra is a packed JsonlContents.
std::unique_ptr<RecordFinder> json_lines();

inline constexpr size_t kMostJsonLine = size_t{64} << 20;  // bytes

}  // namespace headrace
