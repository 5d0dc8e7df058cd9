// A user's description of one feature of a tf.train.Example, and its conversion to tensors: tf.io's three
// kinds.
//
//   fixed_len           the number of values that `shape` has, in every example; or the default
//   var_len             any number of values, none where the feature is missing
//   fixed_len_sequence  any number of values of `shape` each
//
// In JSON {"kind": "fixed_len", "dtype": "i64", "shape": [28, 28], "default_value": 0}; `kind` may be left
// out. A feature is one tensor, or two: several byte strings, or steps of any length, are {"values",
// "lengths"}: the values concatenated, and the length of each. Values; any thread.
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
  DType dtype = DType::bytes;  // bytes, float32 or int64
  Shape shape;                 // fixed_len: its shape; fixed_len_sequence: the shape of one value
  bool allow_missing = false;  // fixed_len_sequence: a missing feature is no error
  Value default_value;         // fixed_len: null, one value, or the number of values in the shape

  // From its JSON. The error message leaves out the feature's name.
  static Result<FeatureSpec> from(std::string name, const Value& value);
  Value to_value() const;

  FeatureKind kind() const;
  bool is_list_of_bytes() const { return dtype == DType::bytes && !is_one_run(); }
  bool is_one_run() const { return length == FeatureLength::fixed_len && shape.rank() == 0; }

  // For a feature of an Example, or of the context of a SequenceExample.
  size_t num_outputs() const { return is_list_of_bytes() ? 2 : 1; }
  void infer(std::vector<TensorSpec>& out) const;
  // `feature`: null where the example does not have it. `out`: one per output. Messages name the feature.
  Status measure(const Feature* feature, std::span<Shape> out) const;
  // REQUIRES: `out` is what measure() returned for the same bytes.
  Status write(const Feature* feature, std::span<const MutView> out) const;

  // For a feature list of a SequenceExample: the same with a step dimension in front. `entry`: null where it
  // is missing.
  Status check_steps() const;
  size_t num_step_outputs() const;
  void infer_steps(std::vector<TensorSpec>& out) const;
  Status measure_steps(const FeatureEntry* entry, std::span<Shape> out) const;
  Status write_steps(const FeatureEntry* entry, std::span<const MutView> out) const;

 private:
  Status check() const;
  Status check_default() const;
  Status missing() const;
  // Checks that the feature is there and has the right kind. Returns the number of values.
  Result<uint64_t> count(const Feature& feature) const;
  Status write_default(std::span<const MutView> out) const;
};

// The features of one map, by name, in the user's order.
struct FeatureSpecs {
  std::vector<FeatureSpec> specs;
  std::string wrong;  // why they are invalid: for the operator's check()

  static FeatureSpecs from(const Value::Object& object);
  // The index of a name, or specs.size().
  size_t find(std::string_view name) const;

 private:
  std::vector<uint32_t> sorted_;  // indexes, sorted by length of the name, then by name
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
