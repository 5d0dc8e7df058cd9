#include "headrace/formats/records/value_tensors.h"

#include <algorithm>

#include "headrace/core/little_endian.h"
#include "headrace/core/text/text.h"
#include "headrace/core/value.h"

namespace headrace {

Tensor record_part(const Record& record, size_t begin, DType dtype, const Shape& shape) {
  const size_t offset = record.offset + begin;
  if (dtype == DType::boolean) {  // any byte that is not 0 is true
    const TensorSpec spec{dtype, shape};
    const MutableBufferPtr out = HeapBuffer::make(spec.size_bytes());
    for (size_t i = 0; i < spec.size_bytes(); ++i)
      out->mutable_data()[i] = std::byte{record.buffer->data()[offset + i] != std::byte{0}};
    return {out, 0, dtype, shape, nullptr};
  }
  if (reinterpret_cast<uintptr_t>(record.buffer->data() + offset) % size_of(dtype) == 0)
    return {record.buffer, offset, dtype, shape, nullptr};
  return make_tensor({dtype, shape, record.buffer->data() + offset});
}

Status check_array(const ArrayHead& head, std::span<const std::byte> bytes) {
  const size_t wanted = head.shape.size_bytes(head.dtype), there = bytes.size() - head.data;
  if (wanted == there) return {};
  return corrupt(
      {.expected = std::to_string(wanted) + " bytes for " + TensorSpec{head.dtype, head.shape}.text(),
       .got = std::to_string(there)});
}

Result<ArrayHead> read_pil_head(std::span<const std::byte> bytes) {
  constexpr size_t kHead = 12, kLongestMode = 8;
  if (bytes.size() < kHead)
    return corrupt({.expected = "an image", .got = std::to_string(bytes.size()) + " bytes"});
  const int64_t width = load<uint32_t>(bytes), height = load<uint32_t>(bytes, 4);
  const size_t length = load<uint32_t>(bytes, 8);
  if (length > std::min(kLongestMode, bytes.size() - kHead))
    return corrupt(
        {.expected = "the name of an image mode", .got = "one of " + std::to_string(length) + " bytes"});
  const std::string mode(reinterpret_cast<const char*>(bytes.data()) + kHead, length);
  const int64_t channels = mode == "L" ? 1 : mode == "LA" ? 2 : mode == "RGB" ? 3 : mode == "RGBA" ? 4 : 0;
  if (channels == 0)
    return Status(Code::unavailable,
                  {.expected = "an image of mode L, LA, RGB or RGBA", .got = in_quotes(mode)});
  const ArrayHead out{DType::u8, {height, width, channels}, kHead + length};
  HEADRACE_TRY(check_array(out, bytes));
  return out;
}

std::string pack_specs(const std::vector<TensorSpec>& specs) {
  Value::List out;
  for (const TensorSpec& spec : specs) {
    Value::List one{short_name(spec.dtype)};
    for (const int64_t dim : spec.shape.dims()) one.emplace_back(dim);
    out.emplace_back(std::move(one));
  }
  return Value(std::move(out)).dump();
}

Result<std::vector<TensorSpec>> unpack_specs(std::string_view text) {
  HEADRACE_ASSIGN(const Value value, Value::parse(text));
  const auto wrong = [&] { return internal_error("expected dtypes and shapes, got " + std::string(text)); };
  if (!value.list()) return wrong();
  std::vector<TensorSpec> out;
  for (const Value& one : *value.list()) {
    const Value::List* list = one.list();
    if (!list || list->empty() || list->size() > 1 + static_cast<size_t>(kMaxRank) || !(*list)[0].text())
      return wrong();
    HEADRACE_ASSIGN(const DType dtype, parse_dtype(*(*list)[0].text()));
    std::vector<int64_t> dims;
    for (size_t i = 1; i < list->size(); ++i) {
      if (!(*list)[i].integer() || *(*list)[i].integer() < kAny) return wrong();
      dims.push_back(*(*list)[i].integer());
    }
    out.push_back({dtype, Shape(std::span<const int64_t>(dims))});
  }
  return out;
}

}  // namespace headrace
