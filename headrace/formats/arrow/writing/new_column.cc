#include "headrace/formats/arrow/writing/new_column.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace headrace::arrow {
namespace {

// The reader's limits.
constexpr int kMostDims = kMaxRank - 1;
constexpr int64_t kMostItems = int64_t{1} << 26;

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

std::string_view why_no_column(const TensorSpec& spec) {
  if (is_text(spec.dtype)) return {};
  if (spec.dtype == DType::bf16) return "it has no bfloat16; cast to float32";
  const bool is_list = spec.shape.rank() > 0 && spec.shape[0] == kAny;
  const Shape item = is_list ? spec.shape.without_front() : spec.shape;
  if (!item.is_static())
    return "only the first dimension may be free: the schema must state the length of every other one";
  if (item.rank() > kMostDims || item.count() > kMostItems) return "it has too many dimensions or values";
  return {};
}

Result<NewColumn> NewColumn::make(FieldColumn column, ColumnForm form) {
  if (const std::string_view why = why_no_column(column.spec); !why.empty())
    return invalid(
        "arrow stores numbers, strings, bytes, arrays of a fixed shape and lists of numbers or of such "
        "arrays; " +
        std::string(why) + " ('" + column.name + ": " + column.spec.text() + "')");
  return NewColumn(std::move(column), form);
}

NewColumn::NewColumn(FieldColumn column, ColumnForm form) : column_(std::move(column)), form_(form) {
  clear();
}

Shape NewColumn::levels() const {
  if (column_.is_texts) return {kAny};
  if (is_text(spec().dtype)) return {};
  return is_tensor() ? Shape{spec().shape.count()} : spec().shape;
}

void NewColumn::clear() {
  rows_ = items_ = 0;
  values_.clear(), offsets_.clear(), text_offsets_.clear();
  if (has_offsets()) append_offset(0, offsets_);
  if (column_.is_texts) append_offset(0, text_offsets_);
}

void NewColumn::append_offset(uint64_t at, std::vector<std::byte>& out) const {
  const auto narrow = static_cast<int32_t>(at);
  append(out, is_large() ? std::as_bytes(std::span(&at, 1)) : std::as_bytes(std::span(&narrow, 1)));
}

uint64_t NewColumn::items_of(const std::vector<Tensor>& fields) const {
  if (column_.is_texts) return static_cast<uint64_t>(column_.num_texts(fields));
  return has_offsets() ? static_cast<uint64_t>(column_.value(fields).shape[0]) : 0;
}

uint64_t NewColumn::run_of(const std::vector<Tensor>& fields) const {
  const uint64_t items = items_of(fields);
  return column_.is_texts ? std::max(items, uint64_t{column_.value(fields).size_bytes()}) : items;
}

bool NewColumn::has_room_for(const std::vector<Tensor>& fields) const {
  const uint64_t before = column_.is_texts ? std::max(items_, uint64_t{values_.size()}) : items_;
  return is_large() || before + run_of(fields) <= std::numeric_limits<int32_t>::max();
}

void NewColumn::add(const std::vector<Tensor>& fields) {
  ++rows_;
  if (column_.is_texts) {
    uint64_t end = values_.size();
    for_each_text(column_, fields,
                  [&](std::string_view text) { append_offset(end += text.size(), text_offsets_); });
  }
  items_ += items_of(fields);
  append(values_, column_.value(fields).bytes());
  if (has_offsets()) append_offset(items_, offsets_);
}

void NewColumn::append_nodes(std::vector<Node>& out) const {
  uint64_t count = rows_;
  out.push_back({count, 0});
  const Shape levels = this->levels();
  for (const int64_t dim : levels.dims()) {
    count = dim == kAny ? items_ : count * static_cast<uint64_t>(dim);
    out.push_back({count, 0});
  }
}

void NewColumn::append_buffers(std::vector<std::span<const std::byte>>& out) {
  const std::span<const std::byte> no_nulls;
  out.push_back(no_nulls);
  if (has_offsets()) out.push_back(offsets_);
  // A level of fixed-size lists has only a bitmap, and so do its values.
  for (int i = 0; i < levels().rank(); ++i) out.push_back(no_nulls);
  if (column_.is_texts) out.push_back(text_offsets_);
  if (spec().dtype != DType::boolean) return out.push_back(values_);
  bits_.assign((values_.size() + 7) / 8, std::byte{0});
  for (size_t i = 0; i < values_.size(); ++i)
    bits_[i / 8] |= std::byte{values_[i] != std::byte{0}} << (i % 8);
  out.push_back(bits_);
}

}  // namespace headrace::arrow
