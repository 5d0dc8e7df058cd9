// The columns of Arrow data as this reader serves them: each with the places of its nodes and buffers in
// every record batch. Pure functions on metadata bytes.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"
#include "headrace/formats/arrow/flatbuffer.h"

namespace headrace::arrow {

// A buffer's place in a record batch. Columns of views have a number of buffers that each batch states, so
// what lies behind them moves: by those of the first `views` such columns.
struct BufferAt {
  uint32_t fixed = 0, views = 0;
  bool operator==(const BufferAt&) const = default;
};

// A node of a record batch (rows and nulls) with the bitmap that says which are null.
struct NodeAt {
  uint32_t node = 0;
  BufferAt validity;
};

struct Column {
  std::string name;     // "image/bytes": members of structs by their path
  std::string refused;  // why its values are not served; empty when they are
  // Of numbers that mean something else than themselves, as Arrow writes it: "timestamp[us, tz=UTC]"; of a
  // list or a dictionary that of its values.
  std::string type = {};

  DType dtype = DType::u8;   // as served
  DType stored = DType::u8;  // as it lies there; another where values are widened
  bool bits = false;         // booleans, eight a byte
  Shape item;                // of a row, or of each item of a list
  int offset_size = 0;       // 0: a value a row; 4 or 8: runs between offsets
  BufferAt offsets, values;
  // 16 bytes a row, in `offsets`: short runs lie in them, long ones in one of the buffers behind.
  bool is_view = false;
  // A list of texts is two columns: all of its texts one after the other, and how many bytes each has. Where
  // they begin is said in 4 or 8 bytes; 0: it is no such list.
  int text_size = 0;
  BufferAt texts;
  bool is_lengths = false;

  std::vector<NodeAt> rows;       // the structs around it, then its own: a null in any is a null here
  std::optional<NodeAt> items;    // of a list: its values
  std::vector<uint32_t> between;  // nodes of lists within lists: nulls there are refused

  std::optional<int64_t> dictionary;                        // the values are places in it
  std::shared_ptr<const std::vector<Column>> entries = {};  // the one column of its own batches

  bool is_list() const { return offset_size != 0; }
  bool has_runs() const { return is_list() || is_view; }  // a row has any number of items
  uint64_t items_each() const { return static_cast<uint64_t>(item.count()); }
  TensorSpec spec() const;
};

struct Layout {
  std::vector<Column> columns;
  uint32_t num_nodes = 0, num_buffers = 0, num_views = 0;  // of every record batch
};

// From the table of Schema.fbs. `version` is the metadata's: 3 for V4, 4 for V5.
Result<Layout> read_layout(const FlatTable& schema, int version);

// What our writer was told of the data, {"classes": […]}: JSON in the schema's own metadata. Null when there
// is none that can be read.
Value written_about(const FlatTable& schema);
inline constexpr char kAboutKey[] = "headrace";

// These columns, in this order; all that are served when `names` is empty, and then `left_out` becomes the
// names of the others. The name of a struct stands for its members. An error names a column that is not there
// or not served.
Result<std::vector<Column>> choose_columns(const Layout& layout, const std::vector<std::string>& names,
                                           std::vector<std::string>* left_out = nullptr);

}  // namespace headrace::arrow
