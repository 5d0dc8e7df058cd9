// The index of a file of JSON lines: where they lie, and what fields their objects were seen to have.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "headrace/formats/jsonl/fields.h"
#include "headrace/formats/records/line_numbers.h"
#include "headrace/formats/records/whole_walk.h"

namespace headrace {

// What a file's index keeps beside its lines.
struct JsonlContents {
  JsonFields fields;
  LineNumbers lines;
  bool has_more_fields = false;  // than there is room for
  std::string refused;           // why the first line that is no object is none, with its number

  std::string pack() const;
  static std::optional<JsonlContents> unpack(std::string_view bytes);
};

// Lines of blanks are none. FileIndex::extra is packed JsonlContents.
std::unique_ptr<RecordFinder> json_lines();

inline constexpr size_t kMostJsonLine = size_t{64} << 20;  // bytes

}  // namespace headrace
