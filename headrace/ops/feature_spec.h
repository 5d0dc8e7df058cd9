// What a user says of one feature of a tf.train.Example, and how it becomes tensors: tf.io's three kinds.
//
//   fixed_len           as many values as `shape` has, in every example; or the default
//   var_len             any number of values, none where there is no such feature
//   fixed_len_sequence  any number of values of `shape` each
//
// In JSON {"kind": "fixed_len", "dtype": "i64", "shape": [28, 28], "default_value": 0}; `kind` may be left
// out. A feature is one tensor, or two: several runs of bytes, or steps of any length, are {"values",
// "lengths"}, the values one after the other and how many there are in each. Values; any thread.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/codecs/example.h"
#include "headrace/core/tensor.h"
#include "headrace/ops/param.h"

namespace headrace {

enum class FeatureLength : uint8_t { fixed_len, var_len, fixed_len_sequence };

struct FeatureSpec {
  std::string name;
  FeatureLength length = FeatureLength::fixed_len;
  DType dtype = DType::bytes;  // bytes, f32 or i64
  Shape shape;                 // of fixed_len its own, of fixed_len_sequence that of one
  bool allow_missing = false;  // of fixed_len_sequence: none is no error
  Value default_value;         // of fixed_len: null, one value, or as many as the shape has

  // From its JSON. The message leaves out the feature's name.
  static Result<FeatureSpec> from(std::string name, const Value& value);
  Value to_value() const;

  FeatureKind kind() const;
  bool is_list_of_bytes() const { return dtype == DType::bytes && !is_one_run(); }
  bool is_one_run() const { return length == FeatureLength::fixed_len && shape.rank() == 0; }

  // Of a feature of an Example, or of the context of a SequenceExample.
  size_t num_outputs() const { return is_list_of_bytes() ? 2 : 1; }
  void infer(std::vector<TensorSpec>& out) const;
  // `feature`: null where the example has none. `out`: as many as outputs. Messages name the feature.
  Status measure(const Feature* feature, std::span<Shape> out) const;
  // REQUIRES: `out` is what measure() answered for the same bytes.
  Status write(const Feature* feature, std::span<const MutView> out) const;

  // Of a feature list of a SequenceExample: the same with a step in front. `entry` null: it has none.
  Status check_steps() const;
  size_t num_step_outputs() const;
  void infer_steps(std::vector<TensorSpec>& out) const;
  Status measure_steps(const FeatureEntry* entry, std::span<Shape> out) const;
  Status write_steps(const FeatureEntry* entry, std::span<const MutView> out) const;

 private:
  Status check() const;
  Status check_default() const;
  Status missing() const;
  // The feature is there, and holds what is wanted. Answers how many values.
  Result<uint64_t> count(const Feature& feature) const;
  Status write_default(std::span<const MutView> out) const;
};

// The features of one map, by name and in the user's order.
struct FeatureSpecs {
  std::vector<FeatureSpec> specs;
  std::string wrong;  // why they are none: for the operator's check()

  static FeatureSpecs from(const Value::Object& object);
  // The place of a name, or specs.size().
  size_t find(std::string_view name) const;

 private:
  std::vector<uint32_t> sorted_;  // places by length of the name, then by name
};

template <> struct Codec<FeatureSpecs> {
  static std::string py() { return "Mapping[str, Feature]"; }
  static std::string wanted() { return "an object of features by name"; }
  static Value out(const FeatureSpecs& v) {
    Value object{Value::Object()};
    for (const FeatureSpec& spec : v.specs) object.set(spec.name, spec.to_value());
    return object;
  }
  static bool in(const Value& v, FeatureSpecs& o) {
    if (!v.object()) return false;
    o = FeatureSpecs::from(*v.object());
    return true;
  }
};

}  // namespace headrace
