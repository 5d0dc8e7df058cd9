// Puts rows of a block one by one.
#pragma once
#include <utility>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace {

// Block::put() by way of `get(row, fields)`, for blocks without a faster one.
template <class Get>
size_t put_each(std::span<const uint64_t> rows, std::span<const FieldPlace> to, const Get& get) {
  std::vector<Tensor> fields;
  for (size_t n = 0; n < rows.size(); ++n) {
    if (!get(rows[n], fields).ok() || fields.size() != to.size()) return n;
    for (size_t f = 0; f < to.size(); ++f)
      if (!to[f].put(n, std::move(fields[f]))) return n;
  }
  return rows.size();
}

}  // namespace headrace
