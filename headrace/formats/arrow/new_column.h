// A column in the making: a field of samples, as the buffers of a record batch. One thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/core/tensor.h"
#include "headrace/formats/arrow/message.h"

namespace headrace::arrow {

class NewColumn {
 public:
  // An error when Arrow has no column for such a field. `is_large`: offsets of 64 bits.
  static Result<NewColumn> make(std::string name, TensorSpec spec, bool is_large);

  const std::string& name() const { return name_; }
  const TensorSpec& spec() const { return spec_; }
  bool is_large() const { return is_large_; }
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
  NewColumn(std::string name, TensorSpec spec, bool is_large);
  uint64_t items_of(const View& value) const;  // that a list gets
  void append_offset();

  std::string name_;
  TensorSpec spec_;
  bool is_large_;
  uint64_t rows_ = 0, items_ = 0;  // items: what offsets count
  std::vector<std::byte> values_, offsets_;
  std::vector<std::byte> bits_;  // booleans, eight a byte
};

}  // namespace headrace::arrow
