#include "headrace/graph/plan/tensor_json.h"

#include "headrace/ops/param.h"

namespace headrace {

Value tensor_to_value(const Tensor& tensor) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const std::byte b : tensor.view().bytes()) {
    hex += digits[static_cast<size_t>(b) >> 4];
    hex += digits[static_cast<size_t>(b) & 15];
  }
  Value out{Value::Object()};
  out.set("dtype", short_name(tensor.dtype));
  out.set("shape", Value::List(tensor.shape.dims().begin(), tensor.shape.dims().end()));
  out.set("bytes", hex);
  return out;
}

Result<Tensor> tensor_from_value(const Value& value) {
  HEADRACE_ASSIGN(const std::string dtype, value.get_text("dtype"));
  HEADRACE_ASSIGN(const std::string hex, value.get_text("bytes"));
  std::vector<uint64_t> shape;
  const Value* dimensions = value.find("shape");
  if (!dimensions || !dimensions->list() || !Codec<std::vector<uint64_t>>::in(*dimensions, shape))
    return invalid("plan: shape must be a list of numbers of at least 0");
  TensorSpec spec;
  HEADRACE_ASSIGN(spec.dtype, parse_dtype(dtype));
  if (shape.size() > kMaxRank) return invalid("plan: shape must have at most 8 dimensions");
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  spec.shape = Shape(std::span<const int64_t>(dims));
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    if (digit(hex[i]) < 0 || digit(hex[i + 1]) < 0)
      return invalid("plan: bytes must contain only hex digits");
    bytes.push_back(static_cast<std::byte>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  }
  if (hex.size() % 2 != 0 || bytes.size() != spec.size_bytes())
    return invalid("plan: a tensor " + spec.text() + " has " + std::to_string(spec.size_bytes()) +
                   " bytes, got " + std::to_string(hex.size()) + " hex digits");
  return make_tensor({spec.dtype, spec.shape, bytes.data()});
}

}  // namespace headrace
