#include "headrace/ops/feature_spec.h"
#include "headrace/ops/found_features.h"
#include "headrace/ops/named_outputs.h"

namespace headrace {
namespace {

struct ParseExample {
  static constexpr std::string_view name = "parse_example";
  static constexpr std::string_view doc =
      "Take features out of a serialised tf.train.Example, as tf.io.parse_single_example does. A feature of "
      "numbers is a tensor of its shape, for VarLenFeature of rank 1 and any length; one value of bytes is "
      "bytes; several are {'values': bytes, 'lengths': int64}, the values concatenated. Features that are "
      "not named cost nothing.";
  FeatureSpecs features;
  static constexpr std::tuple fields{
      Field{"features", &ParseExample::features,
            "FixedLenFeature, VarLenFeature or FixedLenSequenceFeature by name."}};
  static constexpr std::array inputs{std::string_view("example")};
  static constexpr std::array required{std::string_view("features")};

  Status check() const {
    if (!features.wrong.empty()) return invalid("features: " + features.wrong);
    return features.specs.empty() ? invalid("features must not be empty") : Status();
  }

  std::string structure() const {
    int outputs = 0;
    return structure_of(features, outputs).dump();
  }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    HEADRACE_TRY(check_message(in[0]));
    std::vector<TensorSpec> out;
    for (const FeatureSpec& spec : features.specs) spec.infer(out);
    return out;
  }

  Status measure(std::span<const View> in, std::span<Shape> out, CallContext&) const {
    FoundFeatures found(features.specs.size());
    HEADRACE_TRY(find_features(in[0].bytes(), features, found));
    for (size_t i = 0; i < features.specs.size(); ++i) {
      const FeatureSpec& spec = features.specs[i];
      HEADRACE_TRY(
          with_names(spec.measure(found[i], out.first(spec.num_outputs())), found[i], in[0].bytes()));
      out = out.subspan(spec.num_outputs());
    }
    return {};
  }

  Status run(std::span<const View> in, std::span<const MutView> out, CallContext&) const {
    FoundFeatures found(features.specs.size());
    HEADRACE_TRY(find_features(in[0].bytes(), features, found));
    for (size_t i = 0; i < features.specs.size(); ++i) {
      const FeatureSpec& spec = features.specs[i];
      HEADRACE_TRY(with_names(spec.write(found[i], out.first(spec.num_outputs())), found[i], in[0].bytes()));
      out = out.subspan(spec.num_outputs());
    }
    return {};
  }
};

const Registered<ParseExample> registered_parse_example;
const NamesOutputs<ParseExample> parse_example_names;

}  // namespace
}  // namespace headrace
