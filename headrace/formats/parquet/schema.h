// The columns of a Parquet file as this reader reads them. Pure functions on the footer.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"
#include "headrace/formats/parquet/metadata.h"

namespace headrace::parquet {

// How a stored value is converted.
enum class Change : uint8_t {
  none,
  narrow,     // 32 bits to 8 or 16
  widen,      // 32 bits to 64
  from_i96,   // a day and nanoseconds to nanoseconds since 1970
  to_float,   // a decimal to the nearest float64
  to_length,  // a string to its length in bytes
};

struct Column {
  std::string name;             // "hw/height": members of structs by their path
  std::string refused;          // why its values cannot be read; empty when they can
  bool has_only_nulls = false;  // of the null type: read only where other files say what its values are
  bool is_damaged = false;      // then `refused` is an error of the file, not an unsupported type
  // The Arrow type of numbers with a special meaning: "decimal128(10, 2)"; for a list, that of its items.
  std::string type = {};

  size_t leaf = 0;  // which of a row group's chunks
  Physical physical = Physical::boolean;
  uint32_t length = 0;  // of Physical::fixed
  Change change = Change::none;
  int32_t scale = 0;           // of a decimal
  bool null_is_empty = false;  // the path of an image, which is often missing

  DType dtype = DType::u8;
  Shape item;  // of a row, or of each item of a list of free length
  bool is_list = false;
  std::vector<int64_t> lists = {};     // number of items of each of the nested lists; kAny: any number
  std::vector<uint8_t> list_def = {};  // the lowest definition level at which each of them has an item
  uint8_t max_def = 0;

  uint8_t max_rep() const { return static_cast<uint8_t>(lists.size()); }
  uint64_t items_each() const { return static_cast<uint64_t>(item.count()); }
  bool is_text() const { return headrace::is_text(dtype); }
  // Strings of a list, "captions/values", or their lengths, "captions/lengths": two columns of one leaf.
  bool is_of_texts() const {
    return refused.empty() && is_list && (is_text() || change == Change::to_length);
  }
  uint64_t row_bytes() const { return items_each() * size_of(dtype); }  // neither a list nor a string
  // Bytes of a value, which is a row or an item of a list: decoded (for a string, of its Piece), and stored
  // (0: not fixed).
  size_t value_size() const;
  size_t stored_size() const;
  TensorSpec spec() const;
  bool operator==(const Column&) const = default;
};

// All columns. Keys ARROW:schema and huggingface of `footer` add shapes.
Result<std::vector<Column>> read_columns(const Footer& footer);

// These columns, in this order; when `names` is empty all that can be read, and `left_out` is set to the
// names of the others. The name of a struct selects its members that can be read. An error names a column
// that is missing or cannot be read. Columns of nulls can be if their names are `known`.
Result<std::vector<Column>> choose_columns(std::vector<Column> columns, const std::vector<std::string>& names,
                                           std::vector<std::string>* left_out = nullptr,
                                           const std::set<std::string>& known = {});

// The file's own metadata: what our writer stored ({"classes": […]}), or the label names of Hugging Face's
// dataset description. An object, or null.
Value about_file(const Footer& footer);

}  // namespace headrace::parquet
