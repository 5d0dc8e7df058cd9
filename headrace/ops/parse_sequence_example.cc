#include "headrace/ops/found_features.h"
#include "headrace/ops/named_outputs.h"

namespace headrace {
namespace {

struct ParseSequenceExample {
  static constexpr std::string_view name = "parse_sequence_example";
  static constexpr std::string_view doc =
      "Take features out of a serialised tf.train.SequenceExample, as tf.io.parse_single_sequence_example "
      "does: (context, sequence). The context is as in parse_example. Of the feature lists, a "
      "FixedLenSequenceFeature is a tensor (steps, ...shape), or for bytes {'values': bytes, 'lengths': "
      "int64 (steps)}; a VarLenFeature is {'values', 'lengths'}: the values of all steps, and the number of "
      "values in each step.";
  std::optional<FeatureSpecs> context_features, sequence_features;
  static constexpr std::tuple fields{
      Field{"context_features", &ParseSequenceExample::context_features,
            "FixedLenFeature, VarLenFeature or FixedLenSequenceFeature by name."},
      Field{"sequence_features", &ParseSequenceExample::sequence_features,
            "FixedLenSequenceFeature or VarLenFeature by name."}};
  static constexpr std::array inputs{std::string_view("example")};

  Status check() const {
    if (!context().wrong.empty()) return invalid("context_features: " + context().wrong);
    if (!sequence().wrong.empty()) return invalid("sequence_features: " + sequence().wrong);
    for (const FeatureSpec& spec : sequence().specs)
      if (Status status = spec.check_steps(); !status.ok())
        return std::move(status).before("sequence_features: '" + spec.name + "': ");
    if (context().specs.empty() && sequence().specs.empty())
      return invalid("expected at least one feature in context_features or sequence_features");
    return {};
  }

  std::string structure() const {
    int outputs = 0;
    Value both = structure_of(context(), outputs);
    Value steps = structure_of(sequence(), outputs, &FeatureSpec::num_step_outputs);
    return Value(Value::List{std::move(both), std::move(steps)}).dump();
  }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    HEADRACE_TRY(check_message(in[0]));
    std::vector<TensorSpec> out;
    for (const FeatureSpec& spec : context().specs) spec.infer(out);
    for (const FeatureSpec& spec : sequence().specs) spec.infer_steps(out);
    return out;
  }

  Status measure(std::span<const View> in, std::span<Shape> out, CallContext&) const {
    return each(
        in[0], out, [](const FeatureSpec& spec, const Feature* f, auto to) { return spec.measure(f, to); },
        [](const FeatureSpec& spec, const FeatureEntry* e, auto to) { return spec.measure_steps(e, to); });
  }

  Status run(std::span<const View> in, std::span<const MutView> out, CallContext&) const {
    return each(
        in[0], out, [](const FeatureSpec& spec, const Feature* f, auto to) { return spec.write(f, to); },
        [](const FeatureSpec& spec, const FeatureEntry* e, auto to) { return spec.write_steps(e, to); });
  }

 private:
  const FeatureSpecs& context() const { return context_features ? *context_features : kNone; }
  const FeatureSpecs& sequence() const { return sequence_features ? *sequence_features : kNone; }

  template <class Out, class OfContext, class OfSteps>
  Status each(View in, std::span<Out> out, const OfContext& of_context, const OfSteps& of_steps) const {
    FoundFeatures features(context().specs.size());
    HEADRACE_TRY(find_features(in.bytes(), context(), features));
    for (size_t i = 0; i < context().specs.size(); ++i) {
      const FeatureSpec& spec = context().specs[i];
      HEADRACE_TRY(
          with_names(of_context(spec, features[i], out.first(spec.num_outputs())), features[i], in.bytes()));
      out = out.subspan(spec.num_outputs());
    }
    FoundLists lists(sequence().specs.size());
    HEADRACE_TRY(find_feature_lists(in.bytes(), sequence(), lists));
    for (size_t i = 0; i < sequence().specs.size(); ++i) {
      const FeatureSpec& spec = sequence().specs[i];
      HEADRACE_TRY(with_names(of_steps(spec, lists[i], out.first(spec.num_step_outputs())), lists[i],
                              in.bytes(), FeatureGroup::feature_lists));
      out = out.subspan(spec.num_step_outputs());
    }
    return {};
  }

  inline static const FeatureSpecs kNone;
};

const Registered<ParseSequenceExample> registered_parse_sequence_example;
const NamesOutputs<ParseSequenceExample> sequence_example_names;

}  // namespace
}  // namespace headrace
