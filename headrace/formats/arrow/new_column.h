// A column in the making: a field of samples, as the buffers of a record batch. One thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/core/tensor.h"
#include "headrace/formats/arrow/message.h"

namespace headrace::arrow {

struct ColumnForm {
  bool is_large = false;     // offsets of 64 bits
  bool has_tensors = false;  // arrays of one shape are Arrow's extension type and not lists within each other
};

// Why there is no column for such a field; empty when there is one.
std::string_view why_no_column(const TensorSpec& spec);

class NewColumn {
 public:
  // An error when Arrow has no column for such a field.
  static Result<NewColumn> make(std::string name, TensorSpec spec, ColumnForm form);

  const std::string& name() const { return name_; }
  const TensorSpec& spec() const { return spec_; }
  bool is_large() const { return form_.is_large; }
  bool is_tensor() const { return form_.has_tensors && spec_.is_static() && spec_.shape.rank() > 0; }
  // The sizes of the lists within each other that it is stored as, kAny of those between offsets.
  Shape levels() const;
  // Runs between offsets: text, bytes, lists.
  bool has_offsets() const { return is_text(spec_.dtype) || is_list(); }
  bool is_list() const { return !is_text(spec_.dtype) && spec_.shape.rank() > 0 && spec_.shape[0] == kAny; }

  // Whether offsets can still say where `value` ends.
  bool has_room_for(const View& value) const;
  void add(const View& value);  // REQUIRES: has_room_for(value), as spec() says
  void clear();                 // of all rows
  uint64_t bytes() const { return values_.size() + offsets_.size(); }

  // Its nodes, in the order of the tree: rows, then the items of each level of lists.
  void append_nodes(std::vector<Node>& out) const;
  // Its buffers, in the order of the tree; bitmaps are empty, for nothing is null. They are valid until it is
  // added to.
  void append_buffers(std::vector<std::span<const std::byte>>& out);

 private:
  NewColumn(std::string name, TensorSpec spec, ColumnForm form);
  uint64_t items_of(const View& value) const;  // that a list gets
  void append_offset();

  std::string name_;
  TensorSpec spec_;
  ColumnForm form_;
  uint64_t rows_ = 0, items_ = 0;  // items: what offsets count
  std::vector<std::byte> values_, offsets_;
  std::vector<std::byte> bits_;  // booleans, eight a byte
};

}  // namespace headrace::arrow
