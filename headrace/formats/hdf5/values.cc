#include "headrace/formats/hdf5/values.h"

#include <algorithm>
#include <cstring>

namespace headrace::hdf5 {
namespace {

bool is_aligned(const std::byte* bytes, DType dtype) {
  return reinterpret_cast<uintptr_t>(bytes) % size_of(dtype) == 0;
}

void swap_bytes(std::byte* bytes, size_t count, size_t size) {
  for (size_t i = 0; i < count; ++i) std::reverse(bytes + i * size, bytes + (i + 1) * size);
}

void to_booleans(std::byte* bytes, size_t count) {
  std::transform(bytes, bytes + count, bytes, [](std::byte b) { return std::byte{b != std::byte{0}}; });
}

uint64_t text_length(const Leaf& leaf, const std::byte* bytes) {
  const auto* text = reinterpret_cast<const char*>(bytes);
  if (leaf.padding == 0) return strnlen(text, leaf.bytes);
  const char pad = leaf.padding == 2 ? ' ' : '\0';
  uint64_t length = leaf.bytes;
  while (length > 0 && text[length - 1] == pad) --length;
  return length;
}

// The values of a leaf, extracted from the elements, in native byte order.
BufferPtr copy_of(const Leaf& leaf, const std::byte* from, uint64_t elements, uint64_t stride) {
  const MutableBufferPtr out = HeapBuffer::make(elements * leaf.bytes);
  std::byte* to = out->mutable_data();
  if (stride == leaf.bytes && out->size() > 0) std::memcpy(to, from, out->size());
  for (uint64_t i = 0; stride != leaf.bytes && i < elements; ++i)
    std::memcpy(to + i * leaf.bytes, from + i * stride, leaf.bytes);
  if (leaf.form == Form::boolean) to_booleans(to, out->size());
  if (leaf.swaps) swap_bytes(to, out->size() / size_of(leaf.dtype), size_of(leaf.dtype));
  return out;
}

}  // namespace

bool is_plain(const Dataset& dataset, const Leaf& leaf) {
  return (leaf.form == Form::number || (leaf.form == Form::text && dataset.row_elements() != 1)) &&
         !leaf.swaps && leaf.bytes == dataset.element;
}

Tensor value_of(const Dataset& dataset, const Leaf& leaf, const RowBytes& rows, uint64_t row) {
  const uint64_t elements = dataset.row_elements();
  const std::byte* bytes = rows.row(dataset, row) + leaf.offset;
  const auto offset = static_cast<size_t>(bytes - rows.buffer->data());
  if (leaf.form == Form::text && elements == 1)
    return {rows.buffer, offset, DType::str, {static_cast<int64_t>(text_length(leaf, bytes))}, nullptr};
  const DType dtype = leaf.form == Form::text ? DType::u8 : leaf.dtype;
  std::vector<int64_t> dims;
  for (size_t i = 1; i < dataset.dims.size(); ++i) dims.push_back(static_cast<int64_t>(dataset.dims[i]));
  dims.insert(dims.end(), leaf.item.begin(), leaf.item.end());
  if (leaf.form == Form::text) dims.push_back(static_cast<int64_t>(leaf.bytes));
  const Shape shape{std::span<const int64_t>(dims)};
  if (is_plain(dataset, leaf) && is_aligned(bytes, dtype))
    return {rows.buffer, offset, dtype, shape, nullptr};
  return {copy_of(leaf, bytes, elements, dataset.element), 0, dtype, shape, nullptr};
}

Tensor run_of(const Leaf& leaf, const BufferPtr& buffer, uint64_t offset, uint64_t count) {
  const std::byte* bytes = buffer->data() + offset;
  if (leaf.form == Form::string) count = strnlen(reinterpret_cast<const char*>(bytes), count);
  std::vector<int64_t> dims{static_cast<int64_t>(count)};
  dims.insert(dims.end(), leaf.item.begin(), leaf.item.end());
  Tensor out{buffer, offset, leaf.dtype, Shape(std::span<const int64_t>(dims)), nullptr};
  if (is_aligned(bytes, leaf.dtype) && !leaf.swaps && leaf.dtype != DType::boolean) return out;
  const MutableBufferPtr copy = HeapBuffer::make(count * leaf.item_bytes());
  if (copy->size() > 0) std::memcpy(copy->mutable_data(), bytes, copy->size());
  if (leaf.dtype == DType::boolean) to_booleans(copy->mutable_data(), copy->size());
  if (leaf.swaps) swap_bytes(copy->mutable_data(), copy->size() / size_of(leaf.dtype), size_of(leaf.dtype));
  out.buffer = copy, out.offset = 0;
  return out;
}

}  // namespace headrace::hdf5
