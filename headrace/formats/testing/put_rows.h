// What Block::put() gives, as samples, to be compared with those of get().
#pragma once
#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headrace/core/row_list.h"
#include "headrace/formats/source.h"
#include "headrace/io/store.h"

namespace headrace {

// The first of the rows, as many as were put. `in_columns`: values of one size go to memory of that size, as
// in a batch; else all fields become tensors.
inline std::vector<std::vector<Tensor>> put_rows(const Block& block, const Schema& schema,
                                                 std::span<const uint64_t> rows, bool in_columns) {
  std::vector<MutableBufferPtr> columns(schema.size());
  std::vector<std::vector<Tensor>> tensors(schema.size(), std::vector<Tensor>(rows.size()));
  std::vector<std::vector<Text>> texts(schema.size(), std::vector<Text>(rows.size()));
  std::vector<std::vector<TextOwner>> owners(schema.size());
  std::vector<TextRows> text_rows;
  text_rows.reserve(schema.size());
  std::vector<FieldPlace> to(schema.size());
  for (size_t f = 0; f < schema.size(); ++f) {
    to[f].spec = &schema.specs[f];
    if (is_text(schema.specs[f].dtype))
      to[f].texts = &text_rows.emplace_back(texts[f].data(), 0, owners[f]);
    else
      to[f].tensors = tensors[f].data();
    if (!in_columns || !schema.specs[f].is_static()) continue;
    columns[f] = HeapBuffer::make(std::max<size_t>(1, rows.size() * schema.specs[f].size_bytes()));
    to[f].values = columns[f]->mutable_data();
  }
  std::vector<std::vector<Tensor>> out(block.put(rows, to));
  for (size_t f = 0; f < schema.size(); ++f)
    if (to[f].texts) tensors[f] = RowList(schema.specs[f].dtype, std::move(texts[f]), std::move(owners[f])).tensors();
  for (size_t i = 0; i < out.size(); ++i)
    for (size_t f = 0; f < schema.size(); ++f) {
      const TensorSpec& spec = schema.specs[f];
      if (columns[f])
        out[i].push_back({columns[f], i * spec.size_bytes(), spec.dtype, spec.shape, nullptr});
      else
        out[i].push_back(tensors[f][i]);
    }
  return out;
}

// The first samples of a source that lie alone, in one buffer and one block, as small ones are read.
struct TogetherRead {
  BlockPtr block;  // null where there are none
  uint64_t size = 0;
};
inline TogetherRead read_together(Store& store, const Source& source, uint64_t most) {
  std::vector<uint64_t> indices;
  std::vector<size_t> at;
  std::string bytes;
  for (uint64_t i = 0; i < std::min(most, source.size()); ++i) {
    Extent extent;
    if (!source.extents({&i, 1}, {&extent, 1}) || extent.length == kToEnd) continue;
    const auto file = store.open(source.file(extent.file));
    if (!file.ok()) continue;
    bytes.resize((bytes.size() + 8) / 8 * 8, '?');
    at.push_back(bytes.size()), indices.push_back(i);
    bytes.resize(bytes.size() + extent.length);
    const std::span<char> to = std::span(bytes).last(extent.length);
    if (!read_exactly(**file, extent.offset, std::as_writable_bytes(to)).ok()) return {};
  }
  const uint64_t size = indices.size();
  if (size == 0) return {};
  return {source.together(std::move(indices), std::move(at), text_tensor(bytes).buffer), size};
}

inline bool are_equal(const std::vector<Tensor>& some, const std::vector<Tensor>& others) {
  return std::ranges::equal(some, others, [](const Tensor& a, const Tensor& b) {
    return a.dtype == b.dtype && a.shape == b.shape && std::ranges::equal(a.view().bytes(), b.view().bytes());
  });
}

// Whether all rows that get() gives are put as the same, from whichever row on, and no row that it refuses.
inline bool puts_what_it_gets(const Block& block, const Schema& schema, uint64_t size) {
  std::vector<uint64_t> rows(size);
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  std::vector<Tensor> fields;
  for (uint64_t first = 0; first < size; ++first)
    for (const bool in_columns : {false, true}) {
      const auto put = put_rows(block, schema, std::span(rows).subspan(first), in_columns);
      for (uint64_t i = 0; i < put.size(); ++i)
        if (!block.get(first + i, fields).ok() || !are_equal(put[i], fields)) return false;
      if (first + put.size() < size && block.get(first + put.size(), fields).ok()) return false;
    }
  return true;
}

}  // namespace headrace
