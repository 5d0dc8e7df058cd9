#include "headrace/core/row_list.h"

namespace headrace {

void RowList::make() const {
  tensors_.reserve(texts_.size());
  size_t owner = 0;
  for (size_t i = 0; i < texts_.size(); ++i) {
    while (owner + 1 < owners_.size() && owners_[owner + 1].first <= i) ++owner;
    const BufferPtr buffer = owners_.empty() ? nullptr : owners_[owner].buffer;
    const size_t offset = buffer && texts_[i].data() ? static_cast<size_t>(texts_[i].data() - buffer->data()) : 0;
    tensors_.push_back({buffer, offset, dtype_, {static_cast<int64_t>(texts_[i].size())}, nullptr});
  }
}

}  // namespace headrace
