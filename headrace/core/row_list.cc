#include "headrace/core/row_list.h"

#include <algorithm>
#include <mutex>

namespace headrace {

struct RowList::Made {
  std::once_flag once;
  std::vector<Tensor> tensors;
};

RowList::RowList(std::vector<Tensor> rows) : tensors_(std::move(rows)) {}

RowList::RowList(DType dtype, BufferPtr texts, std::vector<TextOwner> owners)
    : dtype_(dtype),
      memory_(std::move(texts)),
      texts_(reinterpret_cast<const Text*>(memory_->data()), memory_->size() / sizeof(Text)),
      owners_(std::move(owners)),
      made_(std::make_unique<Made>()) {}

RowList::RowList(Slice slice)
    : dtype_(slice.dtype),
      memory_(std::move(slice.memory)),
      texts_(slice.texts),
      owners_(std::move(slice.owners)),
      made_(std::make_unique<Made>()) {}

RowList::~RowList() = default;

// A view would copy the shape too.
Text RowList::bytes_of(const Tensor& row) {
  return {row.buffer ? row.buffer->data() + row.offset : nullptr, row.shape.size_bytes(row.dtype)};
}

std::shared_ptr<const RowList> RowList::slice(size_t first, size_t count) const {
  if (!memory_) {
    const auto begin = tensors_.begin() + static_cast<std::ptrdiff_t>(first);
    return std::make_shared<const RowList>(std::vector(begin, begin + static_cast<std::ptrdiff_t>(count)));
  }
  const auto row_of = [](const TextOwner& owner) { return owner.first; };
  auto owner = std::ranges::upper_bound(owners_, first, {}, row_of);
  if (owner != owners_.begin()) --owner;
  std::vector<TextOwner> owners;
  for (; owner != owners_.end() && owner->first < first + count; ++owner)
    owners.push_back({std::max(owner->first, first) - first, owner->buffer});
  return std::make_shared<const RowList>(
      Slice{dtype_, memory_, texts_.subspan(first, count), std::move(owners)});
}

const std::vector<Tensor>& RowList::of_texts() const {
  std::call_once(made_->once, [this] {
    made_->tensors.reserve(texts_.size());
    auto owner = owners_.begin();
    for (size_t i = 0; i < texts_.size(); ++i) {
      while (owner != owners_.end() && owner + 1 != owners_.end() && (owner + 1)->first <= i) ++owner;
      const BufferPtr buffer = owner == owners_.end() ? nullptr : owner->buffer;
      const bool has_bytes = buffer && texts_[i].data();
      const size_t offset = has_bytes ? static_cast<size_t>(texts_[i].data() - buffer->data()) : 0;
      made_->tensors.push_back({buffer, offset, dtype_, {static_cast<int64_t>(texts_[i].size())}, nullptr});
    }
  });
  return made_->tensors;
}

std::span<Text> make_texts(Buffer& memory) {
  auto* const first = reinterpret_cast<Text*>(memory.mutable_data());
  const size_t count = memory.size() / sizeof(Text);
  std::uninitialized_value_construct_n(first, count);
  return {first, count};
}

}  // namespace headrace
