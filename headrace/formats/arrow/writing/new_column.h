// A column in the making: a field of samples, or texts of a list, as the buffers of a record batch. One
// thread.
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
#include "headrace/formats/columns.h"

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
  static Result<NewColumn> make(FieldColumn column, ColumnForm form);

  const std::string& name() const { return column_.name; }
  const TensorSpec& spec() const { return column_.spec; }
  bool is_large() const { return form_.is_large; }
  bool is_tensor() const { return form_.has_tensors && spec().is_static() && spec().shape.rank() > 0; }
  // The sizes of the lists within each other that it is stored as, kAny of those between offsets.
  Shape levels() const;

  // That texts of a list are as their lengths say.
  Status check(const std::vector<Tensor>& fields) const { return column_.check(fields); }
  // The longest run of these fields between two offsets.
  uint64_t run_of(const std::vector<Tensor>& fields) const;
  // Whether offsets can still say where they end.
  bool has_room_for(const std::vector<Tensor>& fields) const;
  void add(const std::vector<Tensor>& fields);  // REQUIRES: check(), has_room_for()
  void clear();                                 // of all rows
  uint64_t bytes() const { return values_.size() + offsets_.size() + text_offsets_.size(); }

  // Its nodes, in the order of the tree: rows, then the items of each level of lists.
  void append_nodes(std::vector<Node>& out) const;
  // Its buffers, in the order of the tree; bitmaps are empty, for nothing is null. They are valid until it is
  // added to.
  void append_buffers(std::vector<std::span<const std::byte>>& out);

 private:
  NewColumn(FieldColumn column, ColumnForm form);
  bool has_offsets() const {
    return is_text(spec().dtype) || (spec().shape.rank() > 0 && spec().shape[0] == kAny);
  }
  uint64_t items_of(const std::vector<Tensor>& fields) const;  // that a run gets
  void append_offset(uint64_t at, std::vector<std::byte>& out) const;

  FieldColumn column_;
  ColumnForm form_;
  uint64_t rows_ = 0, items_ = 0;  // items: what offsets count
  std::vector<std::byte> values_, offsets_;
  std::vector<std::byte> text_offsets_;  // of each text of a list
  std::vector<std::byte> bits_;          // booleans, eight a byte
};

}  // namespace headrace::arrow
