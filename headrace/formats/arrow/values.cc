#include "headrace/formats/arrow/values.h"

#include <algorithm>
#include <cstring>

namespace headrace::arrow {
namespace {

Status got_null(const Values& values, std::string_view what, const std::string& how_to_read_it) {
  return corrupt({.expected = std::string(what) + " in column '" + std::string(values.name) + "'",
                  .got = "null",
                  .fix = how_to_read_it})
      .with({.field = std::string(values.name), .option = "nulls"});
}

Status null_item(const Values& values, std::string_view what, bool may_be_nan) {
  return got_null(values, what, null_item_is_read(may_be_nan));
}

Shape shape_of(const Values& values, uint64_t count) {
  const bool has_runs = values.offset_size != 0 || values.is_view;
  return has_runs ? values.item.with_front(static_cast<int64_t>(count)) : values.item;
}

// Whether NaN could stand for a row.
bool is_number(const Values& values) {
  if (values.dictionary) return is_number(*values.dictionary);
  return values.offset_size == 0 && !values.is_view && is_float(values.dtype);
}

// Zeros or NaNs, an empty value, or the null of the dictionary's values.
Tensor null_of(const Values& values, Nulls nulls) {
  if (values.dictionary) return null_of(*values.dictionary, nulls);
  Tensor out{nullptr, 0, values.dtype, shape_of(values, 0), nullptr};
  const MutableBufferPtr zeros = HeapBuffer::make(out.shape.size_bytes(out.dtype));
  if (zeros->size() > 0) std::memset(zeros->mutable_data(), 0, zeros->size());
  if (nulls == Nulls::nan) fill_nan(out.dtype, {zeros->mutable_data(), zeros->size()});
  out.buffer = zeros;
  return out;
}

// Items that are null: refused, or zeros or NaNs in a copy.
Status without_nulls(const Values& values, uint64_t first, Nulls nulls, Tensor& out) {
  const auto count = static_cast<uint64_t>(out.shape.count());
  const size_t size = size_of(values.dtype);
  MutableBufferPtr copy;
  for (uint64_t i = 0; i < count; ++i) {
    if (values.items_present[first + i]) continue;
    if (refuses_items(nulls))
      return null_item(values, values.of_texts ? "strings without nulls" : "numbers without nulls",
                       is_float(values.dtype));
    if (!copy) {
      copy = HeapBuffer::make(count * size);
      std::memcpy(copy->mutable_data(), out.buffer->data() + out.offset, count * size);
    }
    std::memset(copy->mutable_data() + i * size, 0, size);
    if (nulls == Nulls::nan) fill_nan(values.dtype, {copy->mutable_data() + i * size, size});
  }
  if (copy) out.buffer = copy, out.offset = 0;
  return {};
}

// Null strings of a list: refused, or removed, whatever bytes are stored for them.
Status without_null_texts(const Values& values, uint64_t row, Nulls nulls, Tensor& out) {
  const auto list = [&](uint64_t i) {
    return offset_in(values.lists, values.list_size, i) - offset_in(values.lists, values.list_size, 0);
  };
  const auto begin = [&](uint64_t text) { return offset_in(values.texts, values.text_size, text); };
  const uint64_t first = list(row), behind = list(row + 1);
  uint64_t kept = 0;
  for (uint64_t i = first; i < behind; ++i) {
    if (!values.items_present[i] && refuses_items(nulls))
      return null_item(values, "strings without nulls", false);
    kept += values.items_present[i] ? begin(i + 1) - begin(i) : 0;
  }
  if (kept == out.view().size_bytes()) return {};
  const MutableBufferPtr copy = HeapBuffer::make(kept);
  std::byte* to = copy->mutable_data();
  for (uint64_t i = first; i < behind; ++i) {
    const uint64_t length = values.items_present[i] ? begin(i + 1) - begin(i) : 0;
    if (length > 0) std::memcpy(to, out.view().data + begin(i) - begin(first), length);
    to += length;
  }
  out = {copy, 0, values.dtype, {static_cast<int64_t>(kept)}, nullptr};
  return {};
}

// A dictionary index; a negative one becomes too large.
uint64_t place_in_dictionary(const Tensor& tensor) {
  const std::byte* at = tensor.buffer->data() + tensor.offset;
  switch (tensor.dtype) {
    case DType::u8: return load<uint8_t>(at);
    case DType::u16: return load<uint16_t>(at);
    case DType::u32: return load<uint32_t>(at);
    case DType::i8: return static_cast<uint64_t>(load<int8_t>(at));
    case DType::i16: return static_cast<uint64_t>(load<int16_t>(at));
    case DType::i32: return static_cast<uint64_t>(load<int32_t>(at));
    default: return load<uint64_t>(at);
  }
}

// A view is checked when it is followed.
Status run_of_view(const Values& values, uint64_t row, Tensor& out) {
  const View16 view = values.view(row);
  const auto length = static_cast<uint64_t>(view.length);
  const Shape shape{view.length};
  if (view.length >= 0 && view.is_short()) {
    const size_t at = values.views.offset + row * sizeof view + kShortRun;
    out = {values.views.buffer, at, values.dtype, shape, nullptr};
    return {};
  }
  const auto buffer = static_cast<size_t>(view.buffer);
  const auto begin = static_cast<uint64_t>(view.offset);
  const bool is_there = view.length >= 0 && view.buffer >= 0 && buffer < values.behind.size() &&
                        begin >= values.behind[buffer].begin &&
                        within(begin - values.behind[buffer].begin, length, values.behind[buffer].bytes.size);
  if (!is_there)
    return corrupt("expected a view inside its buffer in column '" + std::string(values.name) + "'");
  const Values::Behind& behind = values.behind[buffer];
  out = {behind.bytes.buffer, behind.bytes.offset + (begin - behind.begin), values.dtype, shape, nullptr};
  return {};
}

}  // namespace

bool Values::is_present(uint64_t row) const {
  return std::ranges::all_of(present, [&](const Bits& bits) { return bits[row]; });
}

bool Values::is_null(uint64_t row) const {
  if (!is_present(row)) return true;
  if (!dictionary) return false;
  return dictionary->is_null(
      place_in_dictionary(Tensor{data.buffer, data.offset + row * row_bytes(), dtype, Shape(), nullptr}));
}

Status Values::at(uint64_t row, Nulls nulls, Tensor& out) const {
  if (!is_present(row)) {
    if (nulls == Nulls::error || (nulls == Nulls::nan && !is_number(*this)))
      return got_null(*this, "a value", null_is_read(is_number(*this)));
    out = null_of(*this, nulls);
    return {};
  }
  if (is_view) return run_of_view(*this, row, out);
  const uint64_t base = offset_size == 0 ? 0 : offset(0);
  const uint64_t first = offset_size == 0 ? row : offset(row) - base;
  const uint64_t length = offset_size == 0 ? 1 : offset(row + 1) - base - first;
  out = Tensor{data.buffer, data.offset + first * row_bytes(), dtype, shape_of(*this, length), nullptr};
  if (lists.buffer) return without_null_texts(*this, row, nulls, out);
  if (items_present.bytes.buffer) HEADRACE_TRY(without_nulls(*this, first * items_each, nulls, out));
  if (!dictionary) return {};
  const uint64_t place = place_in_dictionary(out);
  if (place >= dictionary->count)
    return corrupt({.expected = "an index below " + std::to_string(dictionary->count) +
                                " into the dictionary of column '" + std::string(name) + "'",
                    .got = std::to_string(place)});
  return dictionary->at(place, nulls, out);
}

}  // namespace headrace::arrow
