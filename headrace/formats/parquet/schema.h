// The columns of a Parquet file as this reader serves them. Pure functions on the footer.
#pragma once
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"
#include "headrace/formats/parquet/metadata.h"

namespace headrace::parquet {

// How a value as it is stored becomes one as it is served.
enum class Change : uint8_t {
  none,
  narrow,     // 32 bits to 8 or 16
  widen,      // 32 bits to 64
  from_i96,   // a day and nanoseconds to nanoseconds since 1970
  to_float,   // a decimal to the nearest f64
  to_length,  // a text to how many bytes it has
};

struct Column {
  std::string name;         // "hw/height": members of structs by their path
  std::string refused;      // why its values are not served; empty when they are
  bool is_damaged = false;  // then `refused` is an error of the file and not of ours
  // Of numbers that mean something else than themselves, as Arrow writes it: "decimal128(10, 2)"; of a list
  // that of its items.
  std::string type = {};

  size_t leaf = 0;  // which of a row group's chunks
  Physical physical = Physical::boolean;
  uint32_t length = 0;  // of Physical::fixed
  Change change = Change::none;
  int32_t scale = 0;           // of a decimal
  bool null_is_empty = false;  // the path of an image, which often is not given

  DType dtype = DType::u8;
  Shape item;  // of a row, or of each item of a list of free length
  bool is_list = false;
  std::vector<int64_t> lists =
      {};  // how many items each of the lists within each other has; kAny: any number
  std::vector<uint8_t> list_def = {};  // the definition level from which on each of them has an item
  uint8_t max_def = 0;

  uint8_t max_rep() const { return static_cast<uint8_t>(lists.size()); }
  uint64_t items_each() const { return static_cast<uint64_t>(item.count()); }
  bool is_text() const { return headrace::is_text(dtype); }
  // Texts of a list, "captions/values", or their lengths, "captions/lengths": two columns of one leaf.
  bool is_of_texts() const {
    return refused.empty() && is_list && (is_text() || change == Change::to_length);
  }
  uint64_t row_bytes() const { return items_each() * size_of(dtype); }  // of what is no list and no text
  // Bytes of a value, which is a row or an item of a list: as it is served (of text, of its place), and as it
  // is stored (0: lengths differ).
  size_t value_size() const;
  size_t stored_size() const;
  TensorSpec spec() const;
  bool operator==(const Column&) const = default;
};

// All of them. `footer`: its keys ARROW:schema and huggingface say more of shapes.
Result<std::vector<Column>> read_columns(const Footer& footer);

// These columns, in this order; all that are served when `names` is empty, and then `left_out` becomes the
// names of the others. The name of a struct stands for its members that are served. An error names a column
// that is not there or not served.
Result<std::vector<Column>> choose_columns(const std::vector<Column>& columns,
                                           const std::vector<std::string>& names,
                                           std::vector<std::string>* left_out = nullptr);

// What the file says of itself: what our writer was told ({"classes": […]}), or the names of Hugging Face's
// labels. An object, or null.
Value about_file(const Footer& footer);

}  // namespace headrace::parquet
