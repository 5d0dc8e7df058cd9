// A column being written: a field of samples, or strings of a list, as the buffers of a record batch. One
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
  bool is_large = false;     // 64-bit offsets
  bool has_tensors = false;  // arrays of a fixed shape use Arrow's tensor extension type, not nested lists
};

// Why Arrow has no column type for such a field; empty when it has one.
std::string_view why_no_column(const TensorSpec& spec);

class NewColumn {
 public:
  // An error when Arrow has no column type for such a field.
  static Result<NewColumn> make(FieldColumn column, ColumnForm form);

  const std::string& name() const { return column_.name; }
  const TensorSpec& spec() const { return column_.spec; }
  bool is_large() const { return form_.is_large; }
  bool is_tensor() const { return form_.has_tensors && spec().is_static() && spec().shape.rank() > 0; }
  // Sizes of the nested lists that it is stored as; kAny for lists with offsets.
  Shape levels() const;

  // Checks that strings of a list match their lengths.
  Status check(const std::vector<Tensor>& fields) const { return column_.check(fields); }
  // The longest run of these fields between two offsets.
  uint64_t run_of(const std::vector<Tensor>& fields) const;
  // Whether offsets can still represent their end.
  bool has_room_for(const std::vector<Tensor>& fields) const;
  void add(const std::vector<Tensor>& fields);  // REQUIRES: check(), has_room_for()
  void clear();                                 // of all rows
  uint64_t bytes() const { return values_.size() + offsets_.size() + text_offsets_.size(); }

  // Its nodes, in the order of the tree: rows, then the items of each level of lists.
  void append_nodes(std::vector<Node>& out) const;
  // Its buffers, in the order of the tree; bitmaps are empty, since nothing is null. They are valid until
  // the next add().
  void append_buffers(std::vector<std::span<const std::byte>>& out);

 private:
  NewColumn(FieldColumn column, ColumnForm form);
  bool has_offsets() const {
    return is_text(spec().dtype) || (spec().shape.rank() > 0 && spec().shape[0] == kAny);
  }
  uint64_t items_of(const std::vector<Tensor>& fields) const;  // added by one row
  void append_offset(uint64_t at, std::vector<std::byte>& out) const;

  FieldColumn column_;
  ColumnForm form_;
  uint64_t rows_ = 0, items_ = 0;  // items: what offsets count
  std::vector<std::byte> values_, offsets_;
  std::vector<std::byte> text_offsets_;  // of each string of a list
  std::vector<std::byte> bits_;          // booleans, eight per byte
};

}  // namespace headrace::arrow
