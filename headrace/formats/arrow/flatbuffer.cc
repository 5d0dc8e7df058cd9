#include "headrace/formats/arrow/flatbuffer.h"

#include <string>

namespace headrace::arrow {
namespace {

Status damaged(std::string_view what, uint64_t position) {
  return corrupt("flatbuffer: " + std::string(what) + " is outside the buffer, at byte " +
                 std::to_string(position));
}

}  // namespace

Result<FlatTable> FlatTable::root(std::span<const std::byte> buffer) {
  if (buffer.size() < 4) return damaged("the root", 0);
  return at(buffer, load<uint32_t>(buffer.data()));
}

Result<FlatTable> FlatTable::at(std::span<const std::byte> buffer, uint64_t position) {
  if (!within(position, 4, buffer.size())) return damaged("a table", position);
  const int64_t vtable = static_cast<int64_t>(position) - load<int32_t>(buffer.data() + position);
  if (vtable < 0 || !within(static_cast<uint64_t>(vtable), 4, buffer.size()))
    return damaged("a vtable", position);
  const auto vtable_size = load<uint16_t>(buffer.data() + vtable);
  const auto size = load<uint16_t>(buffer.data() + vtable + 2);
  if (vtable_size < 4 || !within(static_cast<uint64_t>(vtable), vtable_size, buffer.size()))
    return damaged("a vtable", position);
  if (size < 4 || !within(position, size, buffer.size())) return damaged("a table", position);
  return FlatTable(buffer, position, static_cast<uint64_t>(vtable), vtable_size, size);
}

Result<std::optional<uint64_t>> FlatTable::field_position(int field, size_t size) const {
  const uint64_t slot = 4 + 2 * static_cast<uint64_t>(field);
  if (slot + 2 > vtable_size_) return std::optional<uint64_t>();
  const auto offset = load<uint16_t>(buffer_.data() + vtable_ + slot);
  if (offset == 0) return std::optional<uint64_t>();
  if (!within(offset, size, size_)) return damaged("a field", table_ + offset);
  return std::optional<uint64_t>(table_ + offset);
}

Result<std::optional<uint64_t>> FlatTable::follow(int field) const {
  HEADRACE_ASSIGN(const auto at, field_position(field, 4));
  if (!at) return at;
  return std::optional<uint64_t>(*at + load<uint32_t>(buffer_.data() + *at));
}

Result<std::optional<FlatTable>> FlatTable::table(int field) const {
  HEADRACE_ASSIGN(const auto position, follow(field));
  if (!position) return std::optional<FlatTable>();
  HEADRACE_ASSIGN(const FlatTable table, at(buffer_, *position));
  return std::optional<FlatTable>(table);
}

Result<FlatVector> FlatTable::vector(int field, size_t element_size) const {
  HEADRACE_ASSIGN(const auto position, follow(field));
  if (!position) return FlatVector{};
  if (!within(*position, 4, buffer_.size())) return damaged("a vector", *position);
  const auto count = load<uint32_t>(buffer_.data() + *position);
  if (count > (buffer_.size() - *position - 4) / element_size) return damaged("a vector's end", *position);
  return FlatVector{buffer_.subspan(*position + 4), *position + 4, count};
}

Result<std::string_view> FlatTable::text(int field) const {
  HEADRACE_ASSIGN(const FlatVector vector, this->vector(field, 1));
  return std::string_view(reinterpret_cast<const char*>(vector.bytes.data()), vector.count);
}

Result<FlatTable> FlatTable::element(const FlatVector& vector, uint32_t i) const {
  const uint64_t position = vector.position + uint64_t{4} * i;
  return at(buffer_, position + load<uint32_t>(buffer_.data() + position));
}

}  // namespace headrace::arrow
