#include <algorithm>

#include "headrace/codecs/example.h"
#include "headrace/ops/number.h"
#include "headrace/ops/registered.h"

namespace headrace {
namespace {

struct ExampleFeature {
  static constexpr std::string_view name = "example_feature";
  static constexpr std::string_view doc =
      "Take one feature out of a serialised tf.train.Example. Where several are wanted, parse_example takes "
      "them in one look through the message.";
  std::string key;
  DType dtype = DType::bytes;
  std::optional<std::vector<int64_t>> shape = std::vector<int64_t>{};
  std::optional<Number> default_value;
  static constexpr std::tuple fields{
      Field{"key", &ExampleFeature::key, "Name of the feature, as \"image/encoded\"."},
      Field{"dtype", &ExampleFeature::dtype, "What its list holds: bytes, i64 or f32."},
      Field{"shape", &ExampleFeature::shape,
            "Shape of its values, () for one; of bytes, which hold one value, always (). None: any number of "
            "them, as a "
            "tensor of rank 1, which is empty when there is no such feature."},
      Field{"default_value", &ExampleFeature::default_value,
            "Every value where there is no such feature; an error when not given. For numbers of a known "
            "shape."}};
  static constexpr std::array inputs{std::string_view("example")};
  static constexpr std::array required{std::string_view("key")};

  Status check() const {
    if (dtype != DType::bytes && dtype != DType::i64 && dtype != DType::f32)
      return invalid("dtype wants bytes, i64 or f32, which an Example holds, got " +
                     std::string(dtype_name(dtype)) + "; cast() makes others");
    const bool is_scalar = shape && shape->empty();
    if (dtype == DType::bytes && !is_scalar) return invalid("shape of bytes wants (), one value");
    if (default_value && (dtype == DType::bytes || !shape))
      return invalid("default_value wants numbers of a known shape");
    if (default_value && dtype == DType::i64 && !default_value->is_integer)
      return invalid("default_value wants an integer for i64, got " + number_text(*default_value));
    if (shape && shape->size() > static_cast<size_t>(kMaxRank))
      return invalid("shape wants at most 8 dimensions, got " + std::to_string(shape->size()));
    if (shape && std::ranges::any_of(*shape, [](int64_t d) { return d < 0; }))
      return invalid("shape wants no negative dimension; None is any number of values");
    return {};
  }

  Result<TensorSpec> infer(const TensorSpec& in) const {
    if (in.shape.rank() != 1 || (in.dtype != DType::bytes && in.dtype != DType::u8))
      return invalid("wants the bytes of a tf.train.Example, got " + in.text());
    if (dtype == DType::bytes || !shape) return TensorSpec{dtype, {kAny}};
    return TensorSpec{dtype, Shape(*shape)};
  }

  Result<Shape> measure(View in, const Key&) const {
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

  Status run(View in, const Key&, MutView out, Scratch&) const {
    HEADRACE_ASSIGN(const std::optional<Feature> feature, find(in));
    if (!feature) return fill(out);
    if (dtype == DType::f32) return copy_floats(*feature, out.as<float>()).status();
    if (dtype == DType::i64) return copy_ints(*feature, out.as<int64_t>()).status();
    int64_t* no_lengths = nullptr;
    return copy_bytes(*feature, out.data, no_lengths);
  }

 private:
  // The feature, of the right kind and with as many values as are wanted. Nothing: it is missing and may be.
  Result<std::optional<Feature>> find(View in) const {
    HEADRACE_ASSIGN(std::optional<Feature> feature, find_feature(in.bytes(), key));
    if (!feature || feature->kind == FeatureKind::none) {
      if (!shape || default_value) return std::optional<Feature>();
      return corrupt("wants the feature '" + key + "', the example has none of this name" +
                     names_in(in.bytes()));
    }
    const FeatureKind wanted = dtype == DType::bytes ? FeatureKind::bytes
                               : dtype == DType::f32 ? FeatureKind::floats
                                                     : FeatureKind::ints;
    if (feature->kind != wanted)
      return corrupt("wants '" + key + "' of " + std::string(feature_kind_name(wanted)) + ", got " +
                     std::string(feature_kind_name(feature->kind)));
    if (!shape) return feature;
    HEADRACE_ASSIGN(const uint64_t count, count_values(*feature));
    const Shape fixed(*shape);
    if (count != static_cast<uint64_t>(fixed.count()))
      return corrupt("wants " + std::to_string(fixed.count()) + " values of '" + key + "' for shape " +
                     fixed.text() + ", got " + std::to_string(count));
    return feature;
  }

  Status fill(MutView out) const {
    const auto count = out.shape.count();
    if (!default_value) return {};  // any number of values, and there are none
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
