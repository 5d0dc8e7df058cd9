// The rows that Block::put() puts, as samples, for comparison with those of get().
#pragma once
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headrace/core/row_list.h"
#include "headrace/formats/source.h"
#include "headrace/io/store.h"

namespace headrace {

// What `put(places)` puts of the first `most` rows, as samples. `in_columns`: values of one size go to memory
// of that size, as in a batch; otherwise they become tensors.
template <class Put> std::vector<std::vector<Tensor>> rows_put(const Schema& schema, size_t most,
                                                               bool in_columns, const Put& put) {
  std::vector<MutableBufferPtr> columns(schema.size());
  std::vector<std::vector<Tensor>> tensors(schema.size(), std::vector<Tensor>(most));
  std::vector<MutableBufferPtr> texts(schema.size());
  std::vector<std::vector<TextOwner>> owners(schema.size());
  std::vector<TextRows> text_rows;
  text_rows.reserve(schema.size());
  std::vector<FieldPlace> to(schema.size());
  for (size_t f = 0; f < schema.size(); ++f) {
    const TensorSpec& spec = schema.specs[f];
    to[f].spec = &spec;
    if (is_text(spec.dtype)) {
      texts[f] = HeapBuffer::make(most * sizeof(Text));
      to[f].texts = &text_rows.emplace_back(make_texts(*texts[f]).data(), 0, owners[f]);
    } else if (in_columns && spec.is_static()) {
      columns[f] = HeapBuffer::make(std::max<size_t>(1, most * spec.size_bytes()));
      to[f].values = columns[f]->mutable_data();
    } else {
      to[f].tensors = tensors[f].data();
    }
  }
  std::vector<std::vector<Tensor>> out(put(std::span<const FieldPlace>(to)));
  for (size_t f = 0; f < schema.size(); ++f) {
    const TensorSpec& spec = schema.specs[f];
    if (to[f].texts) tensors[f] = RowList(spec.dtype, texts[f], std::move(owners[f])).tensors();
    for (size_t i = 0; i < out.size(); ++i)
      out[i].push_back(columns[f] ? Tensor{columns[f], i * spec.size_bytes(), spec.dtype, spec.shape, nullptr}
                                  : tensors[f][i]);
  }
  return out;
}

inline std::vector<std::vector<Tensor>> put_rows(const Block& block, const Schema& schema,
                                                 std::span<const uint64_t> rows, bool in_columns) {
  return rows_put(schema, rows.size(), in_columns,
                  [&](std::span<const FieldPlace> to) { return block.put(rows, to); });
}

// Simulates mapped files: each extent in memory of its own, which ends where the extent does.
class ReadAsMapped final : public MappedBytes {
 public:
  ReadAsMapped(Store& store, const Source& source) : store_(store), source_(source) {}
  std::span<const std::byte> at(const Extent& extent) override {
    const auto file = store_.open(source_.file(extent.file));
    if (!file.ok()) return {};
    const MutableBufferPtr bytes = HeapBuffer::make(extent.length);
    if (!read_exactly(**file, extent.offset, {bytes->mutable_data(), extent.length}).ok()) return {};
    shown_.push_back(bytes);
    return bytes->bytes();
  }
  // Whether bytes stayed where they were shown.
  bool shows(const View& view) const {
    return view.data &&
           std::ranges::any_of(shown_, [&](const BufferPtr& one) { return holds(*one, view.bytes()); });
  }

 private:
  static bool holds(const Buffer& buffer, std::span<const std::byte> bytes) {
    return bytes.data() >= buffer.data() && bytes.data() < buffer.data() + buffer.size();
  }
  const BufferPtr* stay(Text bytes) override {
    const auto one = std::ranges::find_if(shown_, [&](const BufferPtr& some) { return holds(*some, bytes); });
    return one == shown_.end() ? nullptr : &*one;
  }
  // As much as requested and sometimes more, like a pool.
  MutableBufferPtr take(size_t at_least) override {
    return HeapBuffer::make(at_least + (shown_.size() % 2) * kMore);
  }
  static constexpr size_t kMore = 300;

  Store& store_;
  const Source& source_;
  std::vector<BufferPtr> shown_;
};

// REQUIRES: as Source::put_mapped(). Aborts if anything but `bytes` stays in a map, since nothing keeps it
// valid.
inline std::vector<std::vector<Tensor>> put_mapped_rows(Store& store, const Source& source,
                                                        std::span<const uint64_t> indices) {
  ReadAsMapped mapped(store, source);
  auto rows = rows_put(source.schema(), indices.size(), true, [&](std::span<const FieldPlace> to) {
    return source.put_mapped(indices, mapped, to);
  });
  for (const std::vector<Tensor>& row : rows)
    for (const Tensor& field : row)
      if (field.dtype != DType::bytes && !field.is_ragged() && mapped.shows(field.view())) std::abort();
  return rows;
}

inline bool are_equal(const std::vector<Tensor>& some, const std::vector<Tensor>& others) {
  return std::ranges::equal(some, others, [](const Tensor& a, const Tensor& b) {
    return a.dtype == b.dtype && a.shape == b.shape && std::ranges::equal(a.view().bytes(), b.view().bytes());
  });
}

// Whether all samples put from maps equal those of `read(index)`, in any order: the first `most`, visited
// with a stride of `step`, until all are visited. `num_put`: how many were put.
template <class Read> bool maps_show_what_is_read(Store& store, const Source& source, uint64_t most,
                                                  uint64_t step, const Read& read,
                                                  uint64_t* num_put = nullptr) {
  const uint64_t size = std::min(most, source.size());
  std::vector<uint64_t> indices;
  for (uint64_t first = 0; first < std::min(step, size); ++first)
    for (uint64_t i = first; i < size; i += step) indices.push_back(i);
  for (size_t first = 0; first < indices.size(); ++first) {
    const auto rows = put_mapped_rows(store, source, std::span(indices).subspan(first));
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto fields = read(indices[first + i]);
      if (!fields.ok() || !are_equal(*fields, rows[i])) return false;
    }
    first += rows.size();
    if (num_put) *num_put += rows.size();
  }
  return true;
}

// The first samples of a source that can be read alone, in one buffer and one block, as small ones are read.
struct TogetherRead {
  BlockPtr block;  // null if there are none
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

// Whether put() puts the same rows as get() returns, from any row on, and none that get() refuses.
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
