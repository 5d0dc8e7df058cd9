// The columns of Arrow data as this reader reads them, each with the positions of its nodes and buffers in
// every record batch. Pure functions on metadata bytes.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"
#include "headrace/formats/arrow/flatbuffer.h"

namespace headrace::arrow {

// A buffer's index in a record batch. Columns of views have variadic buffers, whose number each batch
// states, so later indices shift: by the variadic buffers of the first `views` such columns.
struct BufferAt {
  uint32_t fixed = 0, views = 0;
  bool operator==(const BufferAt&) const = default;
};

// A node of a record batch (rows and nulls) with its validity bitmap.
struct NodeAt {
  uint32_t node = 0;
  BufferAt validity;
};

struct Column {
  std::string name;             // "image/bytes": members of structs by their path
  std::string refused;          // why its values cannot be read; empty when they can
  bool has_only_nulls = false;  // of the null type: read only where other files say what its values are
  // The Arrow type of numbers with a special meaning: "timestamp[us, tz=UTC]"; for a list or a dictionary,
  // that of its values.
  std::string type = {};

  DType dtype = DType::u8;   // as read
  DType stored = DType::u8;  // as stored; differs where values are widened
  bool bits = false;         // booleans, eight per byte
  Shape item;                // of a row, or of each item of a list
  int offset_size = 0;       // 0: one value per row; 4 or 8: runs between offsets
  BufferAt offsets, values;
  // 16 bytes a row, in `offsets`: short values are inline, long ones in one of the buffers behind.
  bool is_view = false;
  // A list of strings is two columns: all of its strings concatenated, and their lengths in bytes. Size of a
  // string offset, 4 or 8; 0: not such a list.
  int text_size = 0;
  BufferAt texts;
  bool is_lengths = false;

  std::vector<NodeAt> rows;       // those of the structs around it, then its own: a null in any is a null
  std::optional<NodeAt> items;    // of a list: its values
  std::vector<uint32_t> between;  // nodes of nested lists: nulls there are refused

  std::optional<int64_t> dictionary;                        // its id; the values are indices into it
  std::shared_ptr<const std::vector<Column>> entries = {};  // the one column of its batches

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

// The file's own metadata, from that of its schema: what our writer stored, {"classes": […]}, or the label
// names of Hugging Face's dataset description. Null when there is none, or it cannot be parsed.
Value written_about(const FlatTable& schema);
inline constexpr char kAboutKey[] = "headrace";

// These columns, in this order; when `names` is empty all that can be read, and `left_out` is set to the
// names of the others. The name of a struct selects its members. An error names a column that is missing or
// cannot be read. Columns of nulls can be if their names are `known`.
Result<std::vector<Column>> choose_columns(Layout layout, const std::vector<std::string>& names,
                                           std::vector<std::string>* left_out = nullptr,
                                           const std::set<std::string>& known = {});

}  // namespace headrace::arrow
