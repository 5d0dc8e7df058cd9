#include "headrace/graph/verbs/pack.h"

#include "headrace/graph/details.h"
#include "headrace/graph/node.h"
#include "headrace/graph/padding.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Pack::infer(Node& node) const {
  inherit(node);
  const Schema& in = node.input()->schema;
  if (packed.empty() || lengths.size() != packed.size() || fill.size() != packed.size())
    return invalid("expected at least one field, and a length and a fill for each").in_op("pack");
  if (bins < 1 || bins > 65536)
    return invalid("bins must be from 1 to 65536, got " + std::to_string(bins)).in_op("pack");
  Schema out;
  std::string structure;
  const auto add = [&](const std::string& name, DType dtype, uint64_t length) {
    structure += (structure.empty() ? "{" : ",") + Value(name).dump() + ":" + std::to_string(out.size());
    out.names.push_back(name);
    out.specs.push_back({dtype, {static_cast<int64_t>(length)}});
  };
  for (size_t i = 0; i < packed.size(); ++i) {
    const auto field = static_cast<size_t>(packed[i]);
    if (packed[i] < 0 || field >= in.size())
      return invalid("no field " + std::to_string(packed[i]) + " in " + in.text()).in_op("pack");
    const std::string& name = in.names[field];
    const TensorSpec& spec = in.specs[field];
    if (is_text(spec.dtype) || spec.shape.rank() != 1)
      return invalid("fields must be numeric and one-dimensional, of any length, got '" + name +
                     "': " + spec.text() + "; select other fields with fields=")
          .in_op("pack");
    if (lengths[i] < 1 || lengths[i] > (uint64_t{1} << 31))
      return invalid("lengths must be from 1 to 2^31, got " + std::to_string(lengths[i])).in_op("pack");
    const Schema alone = Schema::of({name}, {{spec.dtype, {kAny}}});
    HEADRACE_TRY(padded_spec({{Shape{kAny}}, {fill[i]}}, alone, 0, "pack").status());
    add(name, spec.dtype, lengths[i]);
    add(name + "_segment_ids", DType::i32, lengths[i]);
    add(name + "_positions", DType::i32, lengths[i]);
  }
  out.structure = structure + "}";
  node.schema = std::move(out);
  end_random_access(node, std::nullopt);
  return {};
}

std::string Pack::details() const {
  return std::string(EnumNames<PackStrategy>::names[static_cast<size_t>(strategy)]) + ", lengths " +
         list_text(lengths) +
         (strategy == PackStrategy::concat_and_split ? "" : ", bins=" + std::to_string(bins)) +
         (most > 0 ? ", max_sequences=" + std::to_string(most) : "") + (drop_last ? ", drop_last" : "");
}

}  // namespace headrace
