// For tests of operators: one call on plain tensors, and serialised Examples piece by piece.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "headrace/ops/op.h"

namespace headrace::testing {

// The values of one output as text with its shape, bytes in quotes.
inline std::string text_of(View view) {
  if (is_text(view.dtype))
    return "'" + std::string(reinterpret_cast<const char*>(view.data), view.size_bytes()) + "'";
  std::string text;
  for (int64_t i = 0; i < view.shape.count(); ++i)
    visit_dtype(view.dtype, [&]<class T>() {
      if constexpr (std::is_arithmetic_v<T>) {
        T value;
        std::memcpy(&value, view.as<T>() + i, sizeof value);
        text += (std::is_floating_point_v<T> ? Value(static_cast<double>(value))
                                             : Value(static_cast<int64_t>(value)))
                    .dump() +
                " ";
      }
    });
  return text + view.shape.text();
}

// Every output of the operator as text, or the error. `known`: the spec of the input that the graph knows.
inline std::string call(const char* op, const char* params, View in, const TensorSpec& known) {
  const auto parsed = Value::parse(params);
  if (!parsed.ok()) return std::string(parsed.status().text());
  const auto made = make_op(op, *parsed);
  if (!made.ok()) return std::string(made.status().text());
  const auto inferred = (*made)->infer({&known, 1});
  if (!inferred.ok()) return std::string(inferred.status().text());
  std::vector<Shape> shapes;
  for (const TensorSpec& spec : *inferred) shapes.push_back(spec.shape);
  Scratch scratch;
  CallContext context(scratch);
  if (Status status = (*made)->measure({&in, 1}, shapes, context); !status.ok())
    return std::string(status.text());
  std::vector<std::vector<std::byte>> memory;
  std::vector<MutView> out;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!TensorSpec((*inferred)[i]).admits({(*inferred)[i].dtype, shapes[i]}))
      return "a shape that was not inferred";
    memory.emplace_back(shapes[i].size_bytes((*inferred)[i].dtype) + 1);
    out.push_back({(*inferred)[i].dtype, shapes[i], memory.back().data()});
  }
  if (Status status = (*made)->run({&in, 1}, out, context); !status.ok()) return std::string(status.text());
  std::string text;
  for (const MutView& view : out) text += (text.empty() ? "" : "; ") + text_of(view);
  return text;
}

inline std::string call_on_bytes(const char* op, const char* params, const std::string& bytes) {
  const View in{
      DType::bytes, {static_cast<int64_t>(bytes.size())}, reinterpret_cast<const std::byte*>(bytes.data())};
  return call(op, params, in, {DType::bytes, {kAny}});
}

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
inline std::string field(int number, const std::string& bytes) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
inline std::string floats(std::initializer_list<float> values) {
  std::string out;
  for (const float v : values) out.append(reinterpret_cast<const char*>(&v), sizeof v);
  return out;
}
inline std::string ints(std::initializer_list<int64_t> values) {
  std::string out;
  for (const int64_t v : values) out += varint(static_cast<uint64_t>(v));
  return out;
}
// A map's entry: `list` is the BytesList (kind 1), FloatList (2) or Int64List (3).
inline std::string entry(const std::string& key, int kind, const std::string& list) {
  return field(1, field(1, key) + field(2, field(kind, list)));
}
inline std::string example(const std::string& entries) { return field(1, entries); }

}  // namespace headrace::testing
