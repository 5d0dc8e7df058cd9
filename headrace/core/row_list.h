// The rows of a ragged tensor. Tensors; or texts, which a batch has many of and which are 16 bytes each here,
// until somebody wants tensors of them.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "headrace/core/tensor.h"

namespace headrace {

using Text = std::span<const std::byte>;

// What the bytes of texts lie in, from row `first` on up to the next one's.
struct TextOwner {
  size_t first = 0;
  BufferPtr buffer;
};

// Immutable; any thread.
class RowList {
 public:
  explicit RowList(std::vector<Tensor> rows = {});
  // `owners`: in order, the first from row 0 on. REQUIRES: is_text(dtype).
  RowList(DType dtype, std::vector<Text> texts, std::vector<TextOwner> owners);
  ~RowList();

  size_t size() const { return texts_.empty() ? tensors_.size() : texts_.size(); }
  bool empty() const { return size() == 0; }
  // The bytes of each row; of none where the rows are tensors.
  std::span<const Text> texts() const { return texts_; }
  std::span<const TextOwner> owners() const { return owners_; }  // of the texts
  Text bytes(size_t i) const { return texts_.empty() ? bytes_of(tensors_[i]) : texts_[i]; }

  // Rows first, first + 1 … of these, in the same memory. REQUIRES: there are so many.
  std::shared_ptr<const RowList> slice(size_t first, size_t count) const;

  const std::vector<Tensor>& tensors() const { return texts_.empty() ? tensors_ : of_texts(); }
  const Tensor& operator[](size_t i) const { return tensors()[i]; }
  const Tensor& front() const { return tensors().front(); }
  auto begin() const { return tensors().begin(); }
  auto end() const { return tensors().end(); }

 private:
  // A view would take a copy of the shape along.
  static Text bytes_of(const Tensor& row) {
    return {row.buffer ? row.buffer->data() + row.offset : nullptr, row.shape.size_bytes(row.dtype)};
  }
  const std::vector<Tensor>& of_texts() const;  // made at the first call

  DType dtype_ = DType::bytes;
  std::vector<Text> texts_;
  std::vector<TextOwner> owners_;
  std::vector<Tensor> tensors_;
  struct Made;
  std::unique_ptr<Made> made_;  // of texts
};

using RowListPtr = std::shared_ptr<const RowList>;

// Where texts go, a row behind the other; row n of `to` is row first + n of the list it becomes.
class TextRows {
 public:
  TextRows(Text* to, size_t first, std::vector<TextOwner>& owners)
      : to_(to), first_(first), owners_(&owners) {}
  // `bytes` lie in `buffer`. REQUIRES: rows come in order.
  void set(size_t n, const BufferPtr& buffer, Text bytes) {
    if (owners_->empty() || owners_->back().buffer != buffer) owners_->push_back({first_ + n, buffer});
    to_[n] = bytes;
  }

 private:
  Text* to_;
  size_t first_;
  std::vector<TextOwner>* owners_;
};

}  // namespace headrace
