#include "headrace/formats/lmdb/tensor_protos.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "headrace/codecs/protobuf.h"

namespace headrace {
namespace {

constexpr size_t kMostTensors = 64;
constexpr std::string_view kMessage = "a TensorProtos";

struct TensorProto {
  std::vector<int64_t> dims;
  uint64_t type = 1;  // as in caffe2.proto
  std::span<const std::byte> message, bytes;
  uint64_t runs_of_bytes = 0;
};

// The field that holds the values of a type; 0: not supported.
struct Type {
  uint64_t type;
  DType dtype;
  uint64_t field;
};
constexpr Type kTypes[] = {{1, DType::f32, 3}, {2, DType::i32, 4},   {3, DType::u8, 5},  {4, DType::bytes, 6},
                           {6, DType::u8, 5},  {10, DType::i64, 10}, {13, DType::f64, 9}};

const Type* find_type(uint64_t type) {
  const auto found = std::ranges::find(kTypes, type, &Type::type);
  return found == std::end(kTypes) ? nullptr : found;
}

// Calls `one(bits)` for each number of `field`, packed or not, in little-endian bits of its wire type.
template <class F>
Status each_number(std::span<const std::byte> message, uint64_t number, size_t width, const F& one) {
  WireReader reader(message, message.data());
  for (WireField field; reader.next(field);) {
    if (field.number != number) continue;
    if (field.wire != Wire::bytes) {
      one(field.value);
      continue;
    }
    if (width == 0) {
      WireReader numbers(field.bytes, message.data());
      for (uint64_t value = 0; numbers.varint(value);) one(value);
      HEADRACE_TRY(numbers.status(kMessage));
      continue;
    }
    if (field.bytes.size() % width != 0) return corrupt("expected packed numbers of one width");
    for (size_t at = 0; at < field.bytes.size(); at += width) {
      uint64_t value = 0;
      std::memcpy(&value, field.bytes.data() + at, width);
      one(value);
    }
  }
  return reader.status(kMessage);
}

Result<TensorProto> parse_one(std::span<const std::byte> message) {
  TensorProto out;
  out.message = message;
  bool too_many = false;
  HEADRACE_TRY(each_number(message, 1, 0, [&](uint64_t dim) {
    too_many = too_many || out.dims.size() == static_cast<size_t>(kMaxRank) || dim > uint64_t{1} << 62;
    if (!too_many) out.dims.push_back(static_cast<int64_t>(dim));
  }));
  if (too_many) return corrupt("expected a tensor of at most 8 dimensions that are not negative");
  WireReader reader(message, message.data());
  for (WireField field; reader.next(field);) {
    if (field.number == 2 && field.wire == Wire::varint) out.type = field.value;
    if (field.is_bytes(5) || field.is_bytes(6)) out.bytes = field.bytes, ++out.runs_of_bytes;
  }
  return out;
}

Result<std::vector<TensorProto>> parse_all(std::span<const std::byte> message) {
  std::vector<TensorProto> out;
  WireReader reader(message, message.data());
  for (WireField field; reader.next(field);) {
    if (!field.is_bytes(1)) continue;
    if (out.size() == kMostTensors) return corrupt("expected at most 64 tensors");
    HEADRACE_ASSIGN(TensorProto one, parse_one(field.bytes));
    out.push_back(std::move(one));
  }
  HEADRACE_TRY(reader.status(kMessage));
  return out;
}

bool is_scalar(const std::vector<int64_t>& dims) {
  return dims.empty() || (dims.size() == 1 && dims[0] == 1);
}

TensorSpec spec_of(const TensorProto& proto, DType dtype) {
  if (dtype == DType::bytes) return {dtype, {kAny}};
  if (is_scalar(proto.dims)) return {dtype, {}};
  const std::vector<int64_t> any(proto.dims.size(), kAny);
  return {dtype, Shape(any)};
}

Result<Tensor> numbers_of(const TensorProto& proto, const Type& type, const Shape& shape) {
  uint64_t count = 0;
  const size_t width = type.dtype == DType::f32 ? 4 : type.dtype == DType::f64 ? 8 : 0;
  HEADRACE_TRY(each_number(proto.message, type.field, width, [&](uint64_t) { ++count; }));
  if (count != static_cast<uint64_t>(shape.count()))
    return corrupt({.expected = std::to_string(shape.count()) + " values for shape " + shape.text(),
                    .got = std::to_string(count)});
  const MutableBufferPtr out = HeapBuffer::make(std::max<size_t>(shape.size_bytes(type.dtype), 1));
  std::byte* at = out->mutable_data();
  const size_t size = size_of(type.dtype);
  HEADRACE_TRY(each_number(proto.message, type.field, width, [&](uint64_t bits) {
    std::memcpy(at, &bits, size);  // the low bytes of a varint
    at += size;
  }));
  return Tensor{out, 0, type.dtype, shape, nullptr};
}

Result<Tensor> tensor_of(const Tensor& value, const TensorProto& proto, const TensorSpec& wanted) {
  const Type* type = find_type(proto.type);
  if (!type)
    return Status(Code::unavailable, "tensors of type " + std::to_string(proto.type) + " are not supported");
  const TensorSpec spec = spec_of(proto, type->dtype);
  if (spec != wanted)
    return corrupt({.expected = wanted.text() + " as in the first value", .got = spec.text()});
  const Shape shape = spec.shape.rank() == 0 ? Shape() : Shape(proto.dims);
  if (type->dtype != DType::bytes && type->dtype != DType::u8) return numbers_of(proto, *type, shape);
  if (proto.runs_of_bytes != 1)
    return corrupt({.expected = "one run of bytes in a tensor", .got = std::to_string(proto.runs_of_bytes)});
  const auto size = static_cast<int64_t>(proto.bytes.size());
  if (type->dtype == DType::u8 && size != shape.count())
    return corrupt({.expected = std::to_string(shape.count()) + " bytes for shape " + shape.text(),
                    .got = std::to_string(size)});
  const auto offset = static_cast<size_t>(proto.bytes.data() - value.view().data);
  return Tensor{value.buffer, value.offset + offset, type->dtype,
                type->dtype == DType::u8 ? shape : Shape{size}, nullptr};
}

std::string name_of(size_t i) {
  constexpr std::array<std::string_view, 3> names{"image", "label", "box"};
  return i < names.size() ? std::string(names[i]) : "tensor_" + std::to_string(i);
}

}  // namespace

TensorProtosKind tensor_protos_kind(std::span<const std::byte> message) {
  const auto protos = parse_all(message);
  if (!protos.ok()) return {};
  TensorProtosKind out;
  for (const TensorProto& proto : *protos) {
    const Type* type = find_type(proto.type);
    if (!type) return {};
    out.push_back(spec_of(proto, type->dtype));
  }
  return out;
}

std::string pack_tensor_protos(const TensorProtosKind& kind) {
  std::string out;
  for (const TensorSpec& spec : kind)
    out += std::string(short_name(spec.dtype)) + ' ' + std::to_string(spec.shape.rank()) + ';';
  return out;
}

TensorProtosKind unpack_tensor_protos(std::string_view text) {
  TensorProtosKind out;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const auto dtype = parse_dtype(entry.substr(0, entry.find(' ')));
    const int rank = entry.empty() ? -1 : entry.back() - '0';
    if (!dtype.ok() || rank < 0 || rank > kMaxRank || out.size() == kMostTensors) return {};
    const std::vector<int64_t> any(static_cast<size_t>(rank), kAny);
    out.push_back({*dtype, Shape(any)});
  }
  return out;
}

Schema tensor_protos_schema(const TensorProtosKind& kind) {
  std::vector<std::string> names;
  for (size_t i = 0; i < kind.size(); ++i) names.push_back(name_of(i));
  return Schema::of(std::move(names), kind);
}

Status read_tensor_protos(const Tensor& value, const TensorProtosKind& kind, std::vector<Tensor>& fields) {
  HEADRACE_ASSIGN(const std::vector<TensorProto> protos, parse_all(value.view().bytes()));
  if (protos.size() != kind.size())
    return corrupt({.expected = std::to_string(kind.size()) + " tensors as in the first value",
                    .got = std::to_string(protos.size())});
  fields.resize(kind.size());
  for (size_t i = 0; i < kind.size(); ++i) {
    auto made = tensor_of(value, protos[i], kind[i]);
    if (!made.ok()) return made.status().before(name_of(i) + ": ");
    fields[i] = *std::move(made);
  }
  return {};
}

}  // namespace headrace
