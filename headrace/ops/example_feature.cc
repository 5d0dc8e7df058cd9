#include <algorithm>

#include "headrace/codecs/example.h"
#include "headrace/ops/number.h"
#include "headrace/ops/registered.h"

namespace headrace {
namespace {

struct ExampleFeature {
  static constexpr std::string_view name = "example_feature";
  static constexpr std::string_view doc =
      "Take one feature out of a serialised tf.train.Example. For several features use parse_example, which "
      "takes them in one pass over the message.";
  std::string key;
  DType dtype = DType::bytes;
  std::optional<std::vector<int64_t>> shape = std::vector<int64_t>{};
  std::optional<Number> default_value;
  static constexpr std::tuple fields{
      Field{"key", &ExampleFeature::key, "Name of the feature, such as \"image/encoded\"."},
      Field{"dtype", &ExampleFeature::dtype, "What its list holds: bytes, int64 or float32."},
      Field{
          "shape", &ExampleFeature::shape,
          "Shape of its values, () for one; for bytes, which hold one value, always (). None: any number of "
          "values, as a tensor of rank 1, which is empty when there is no such feature."},
      Field{"default_value", &ExampleFeature::default_value,
            "Value of every element where the feature is missing, which is an error without it. For numbers "
            "of a known "
            "shape."}};
  static constexpr std::array inputs{std::string_view("example")};
  static constexpr std::array required{std::string_view("key")};

  Status check() const {
    if (dtype != DType::bytes && dtype != DType::i64 && dtype != DType::f32)
      return invalid("dtype must be bytes, int64 or float32, the types in an Example, got " +
                     std::string(dtype_name(dtype)) + "; convert the result with cast()");
    const bool is_scalar = shape && shape->empty();
    if (dtype == DType::bytes && !is_scalar) return invalid("shape of bytes must be (), one value");
    if (default_value && (dtype == DType::bytes || !shape))
      return invalid("default_value needs numbers of a known shape");
    if (default_value && dtype == DType::i64 && !default_value->is_integer)
      return invalid("default_value must be an integer for int64, got " + number_text(*default_value));
    if (shape && shape->size() > static_cast<size_t>(kMaxRank))
      return invalid("shape must have at most 8 dimensions, got " + std::to_string(shape->size()));
    if (shape && std::ranges::any_of(*shape, [](int64_t d) { return d < 0; }))
      return invalid("shape must have no negative dimension; use None for any number of values");
    return {};
  }

  Result<TensorSpec> infer(const TensorSpec& in) const {
    if (in.shape.rank() != 1 || (in.dtype != DType::bytes && in.dtype != DType::u8))
      return invalid({.expected = "the bytes of a tf.train.Example", .got = in.text()});
    if (dtype == DType::bytes || !shape) return TensorSpec{dtype, {kAny}};
    return TensorSpec{dtype, Shape(*shape)};
  }

  Result<Shape> measure(View in, CallContext&) const {
    if (dtype != DType::bytes && shape) return Shape(*shape);
    HEADRACE_ASSIGN(const std::optional<Feature> feature, find(in));
    if (!feature) return Shape{0};
    if (dtype == DType::bytes) {
      HEADRACE_ASSIGN(const uint64_t size, count_bytes(*feature));
      return Shape{static_cast<int64_t>(size)};
    }
    HEADRACE_ASSIGN(const uint64_t count, count_values(*feature));
    return Shape{static_cast<int64_t>(count)};
  }

  Status run(View in, MutView out, CallContext&) const {
    HEADRACE_ASSIGN(const std::optional<Feature> feature, find(in));
    if (!feature) return fill(out);
    if (dtype == DType::f32) return copy_floats(*feature, out.as<float>()).status();
    if (dtype == DType::i64) return copy_ints(*feature, out.as<int64_t>()).status();
    int64_t* no_lengths = nullptr;
    return copy_bytes(*feature, out.data, no_lengths);
  }

 private:
  // The feature, of the right kind and with the right number of values. Nothing: it is missing, which is
  // allowed.
  Result<std::optional<Feature>> find(View in) const {
    HEADRACE_ASSIGN(std::optional<Feature> feature, find_feature(in.bytes(), key));
    if (!feature || feature->kind == FeatureKind::none) {
      if (!shape || default_value) return std::optional<Feature>();
      return corrupt("the example has no feature '" + key + "'" + names_in(in.bytes()));
    }
    const FeatureKind wanted = dtype == DType::bytes ? FeatureKind::bytes
                               : dtype == DType::f32 ? FeatureKind::floats
                                                     : FeatureKind::ints;
    if (feature->kind != wanted)
      return corrupt({.expected = "'" + key + "' of " + std::string(feature_kind_name(wanted)),
                      .got = std::string(feature_kind_name(feature->kind))});
    if (!shape) return feature;
    HEADRACE_ASSIGN(const uint64_t count, count_values(*feature));
    const Shape fixed(*shape);
    if (count != static_cast<uint64_t>(fixed.count()))
      return corrupt(
          {.expected = std::to_string(fixed.count()) + " values of '" + key + "' for shape " + fixed.text(),
           .got = std::to_string(count)});
    return feature;
  }

  Status fill(MutView out) const {
    const auto count = out.shape.count();
    if (!default_value) return {};  // any number of values: there are none
    if (dtype == DType::f32)
      std::fill_n(out.as<float>(), count, default_value->as<float>());
    else
      std::fill_n(out.as<int64_t>(), count, default_value->as<int64_t>());
    return {};
  }
};

const Registered<ExampleFeature> registered_example_feature;

}  // namespace
}  // namespace headrace
