#include "headrace/formats/arrow/new_column.h"

#include <limits>
#include <utility>

namespace headrace::arrow {
namespace {

// What the reader takes.
constexpr int kMostDims = kMaxRank - 1;
constexpr int64_t kMostItems = int64_t{1} << 26;

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

std::string_view why_no_column(const TensorSpec& spec) {
  if (is_text(spec.dtype)) return {};
  if (spec.dtype == DType::bf16) return "it has no bf16; cast to f32";
  const bool is_list = spec.shape.rank() > 0 && spec.shape[0] == kAny;
  const Shape item = is_list ? spec.shape.without_front() : spec.shape;
  if (!item.is_static())
    return "only the first dimension may be free: the others are to be of one length, and the schema to say "
           "it";
  if (item.rank() > kMostDims || item.count() > kMostItems) return "it has too many dimensions or numbers";
  return {};
}

Result<NewColumn> NewColumn::make(std::string name, TensorSpec spec, ColumnForm form) {
  if (const std::string_view why = why_no_column(spec); !why.empty())
    return invalid(
        "arrow holds numbers, text, bytes, arrays of one shape and lists of numbers or of such arrays; " +
        std::string(why) + " ('" + name + ": " + spec.text() + "')");
  return NewColumn(std::move(name), spec, form);
}

NewColumn::NewColumn(std::string name, TensorSpec spec, ColumnForm form)
    : name_(std::move(name)), spec_(spec), form_(form) {
  clear();
}

Shape NewColumn::levels() const {
  if (is_text(spec_.dtype)) return {};
  return is_tensor() ? Shape{spec_.shape.count()} : spec_.shape;
}

void NewColumn::clear() {
  rows_ = items_ = 0;
  values_.clear(), offsets_.clear();
  if (has_offsets()) append_offset();
}

void NewColumn::append_offset() {
  const auto narrow = static_cast<int32_t>(items_);
  append(offsets_, is_large() ? std::as_bytes(std::span(&items_, 1)) : std::as_bytes(std::span(&narrow, 1)));
}

uint64_t NewColumn::items_of(const View& value) const {
  return has_offsets() ? static_cast<uint64_t>(value.shape[0]) : 0;
}

bool NewColumn::has_room_for(const View& value) const {
  return is_large() || items_ + items_of(value) <= std::numeric_limits<int32_t>::max();
}

void NewColumn::add(const View& value) {
  ++rows_;
  items_ += items_of(value);
  append(values_, value.bytes());
  if (has_offsets()) append_offset();
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
  // Of a level of fixed-size lists there is a bitmap alone, and one of what they hold.
  for (int i = 0; i < levels().rank(); ++i) out.push_back(no_nulls);
  if (spec_.dtype != DType::boolean) return out.push_back(values_);
  bits_.assign((values_.size() + 7) / 8, std::byte{0});
  for (size_t i = 0; i < values_.size(); ++i)
    bits_[i / 8] |= std::byte{values_[i] != std::byte{0}} << (i % 8);
  out.push_back(bits_);
}

}  // namespace headrace::arrow
