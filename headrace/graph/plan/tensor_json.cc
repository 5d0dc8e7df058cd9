#include "headrace/graph/plan/tensor_json.h"

#include "headrace/core/text/hex.h"
#include "headrace/graph/plan/plan_members.h"
#include "headrace/ops/param.h"

namespace headrace {

Value tensor_to_value(const Tensor& tensor) {
  Value out{Value::Object()};
  out.set("dtype", short_name(tensor.dtype));
  out.set("shape", Value::List(tensor.shape.dims().begin(), tensor.shape.dims().end()));
  out.set("bytes", hex_of(tensor.view().bytes()));
  return out;
}

Result<Tensor> tensor_from_value(const Value& value) {
  constexpr std::string_view kMembers[] = {"dtype", "shape", "bytes"};
  HEADRACE_TRY(check_members(value, "a tensor", kMembers, {}));
  HEADRACE_ASSIGN(const std::string dtype, value.get_text("dtype"));
  HEADRACE_ASSIGN(const std::string hex, value.get_text("bytes"));
  std::vector<uint64_t> shape;
  const Value* dimensions = value.find("shape");
  if (!dimensions || !dimensions->list() || !Codec<std::vector<uint64_t>>::in(*dimensions, shape))
    return invalid("shape must be a list of numbers of at least 0");
  TensorSpec spec;
  HEADRACE_ASSIGN(spec.dtype, parse_dtype(dtype));
  if (shape.size() > kMaxRank) return invalid("shape must have at most 8 dimensions");
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  spec.shape = Shape(std::span<const int64_t>(dims));
  const auto bytes = bytes_of_hex(hex);
  if (!bytes) return invalid("bytes must contain only hex digits, two for each");
  if (bytes->size() != spec.size_bytes())
    return invalid("a tensor " + spec.text() + " has " + std::to_string(spec.size_bytes()) + " bytes, got " +
                   std::to_string(hex.size()) + " hex digits");
  return make_tensor({spec.dtype, spec.shape, reinterpret_cast<const std::byte*>(bytes->data())});
}

}  // namespace headrace
