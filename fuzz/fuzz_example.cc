// Any bytes as a tf.train.Example and a SequenceExample: tensors of the measured shapes, or an error.
#include <cstdlib>
#include <vector>

#include "headrace/ops/op.h"

namespace {

using namespace headrace;

OpPtr made(const char* op, const char* params) { return *make_op(op, *Value::parse(params)); }

void take(const AnyOp& op, View in) {
  const TensorSpec known{DType::bytes, {kAny}};
  const auto specs = *op.infer({&known, 1});
  std::vector<Shape> shapes;
  for (const TensorSpec& spec : specs) shapes.push_back(spec.shape);
  Scratch scratch;
  CallContext call(scratch);
  if (!op.measure({&in, 1}, shapes, call).ok()) return;
  std::vector<std::vector<std::byte>> memory;
  std::vector<MutView> out;
  for (size_t i = 0; i < specs.size(); ++i) {
    const TensorSpec actual{specs[i].dtype, shapes[i]};
    if (!specs[i].admits(actual) || actual.size_bytes() > 16 * in.size_bytes() + 64) std::abort();
    memory.emplace_back(actual.size_bytes());
    out.push_back({actual.dtype, actual.shape, memory.back().data()});
  }
  const Status status = op.run({&in, 1}, out, call);
  if (!status.ok() && status.text().empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const OpPtr example = made("parse_example", R"({"features": {
      "a": {"kind": "var_len", "dtype": "bytes"}, "b": {"kind": "var_len", "dtype": "f32"},
      "c": {"kind": "var_len", "dtype": "i64"}, "d": {"default_value": "x"},
      "e": {"dtype": "i64", "shape": 2, "default_value": 3},
      "f": {"kind": "fixed_len_sequence", "dtype": "f32", "shape": 2, "allow_missing": true}}})");
  static const OpPtr sequence = made("parse_sequence_example", R"({
      "context_features": {"a": {"kind": "var_len", "dtype": "i64"}}, "sequence_features": {
      "b": {"kind": "var_len", "dtype": "f32"}, "c": {"kind": "var_len", "dtype": "i64"},
      "d": {"kind": "fixed_len_sequence", "dtype": "bytes", "allow_missing": true},
      "f": {"kind": "fixed_len_sequence", "dtype": "f32", "shape": 2, "allow_missing": true}}})");
  const View in{DType::bytes, {static_cast<int64_t>(size)}, reinterpret_cast<const std::byte*>(data)};
  take(*example, in);
  take(*sequence, in);
  return 0;
}
