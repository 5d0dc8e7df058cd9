// The rows of a ragged tensor: tensors; or strings, of which a batch has many and which take 16 bytes each
// here, until they are requested as tensors.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "headrace/core/tensor.h"

namespace headrace {

using Text = std::span<const std::byte>;

// The buffer of the strings, from row `first` up to the next owner's.
struct TextOwner {
  size_t first = 0;
  BufferPtr buffer;
};

// Immutable; any thread.
class RowList {
  struct Slice;

 public:
  explicit RowList(std::vector<Tensor> rows = {});
  // `texts`: memory of one Text per row. `owners`: in order, the first from row 0 on. REQUIRES:
  // is_text(dtype).
  RowList(DType dtype, BufferPtr texts, std::vector<TextOwner> owners);
  explicit RowList(Slice slice);
  ~RowList();
  RowList(const RowList&) = delete;
  RowList& operator=(const RowList&) = delete;

  size_t size() const { return memory_ ? texts_.size() : tensors_.size(); }
  bool empty() const { return size() == 0; }
  // The bytes of each row; empty where the rows are tensors.
  std::span<const Text> texts() const { return texts_; }
  const BufferPtr& memory() const { return memory_; }  // that these are in, maybe with others; or null
  std::span<const TextOwner> owners() const { return owners_; }  // of the strings
  Text bytes(size_t i) const { return memory_ ? texts_[i] : bytes_of(tensors_[i]); }

  // Rows first, first + 1 … of these, in the same memory, which they keep alive. REQUIRES: there are that
  // many.
  std::shared_ptr<const RowList> slice(size_t first, size_t count) const;

  const std::vector<Tensor>& tensors() const { return memory_ ? of_texts() : tensors_; }
  const Tensor& operator[](size_t i) const { return tensors()[i]; }
  const Tensor& front() const { return tensors().front(); }
  auto begin() const { return tensors().begin(); }
  auto end() const { return tensors().end(); }

 private:
  struct Slice {  // some of the strings of a list
    DType dtype;
    BufferPtr memory;
    std::span<const Text> texts;
    std::vector<TextOwner> owners;
  };
  static Text bytes_of(const Tensor& row);
  const std::vector<Tensor>& of_texts() const;  // made at the first call

  DType dtype_ = DType::bytes;
  BufferPtr memory_;
  std::span<const Text> texts_;
  std::vector<TextOwner> owners_;
  std::vector<Tensor> tensors_;
  struct Made;
  std::unique_ptr<Made> made_;  // of strings
};

using RowListPtr = std::shared_ptr<const RowList>;

// Memory for strings, none of which has bytes yet.
std::span<Text> make_texts(Buffer& memory);

// Where strings are put, row after row; row n of `to` is row first + n of the list it becomes.
class TextRows {
 public:
  TextRows(Text* to, size_t first, std::vector<TextOwner>& owners)
      : to_(to),
        first_(first),
        owners_(&owners),
        last_(owners.empty() ? nullptr : owners.back().buffer.get()) {}
  // `bytes` are in `buffer`. REQUIRES: rows come in order.
  void set(size_t n, const BufferPtr& buffer, Text bytes) {
    if (buffer.get() != last_ || owners_->empty()) [[unlikely]]
      add_owner(n, buffer);
    to_[n] = bytes;
  }

 private:
  void add_owner(size_t n, const BufferPtr& buffer) {
    owners_->push_back({first_ + n, buffer});
    last_ = buffer.get();
  }

  Text* to_;
  size_t first_;
  std::vector<TextOwner>* owners_;
  const Buffer* last_;  // of them
};

}  // namespace headrace
