#include "headrace/graph/verbs/scan.h"

#include "headrace/graph/details.h"
#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {
namespace {

// " 'mean'" for the leaf "0/mean" of a state; empty for a state of one leaf.
std::string of_leaf(std::string_view name) {
  const size_t slash = name.find('/');
  return slash == std::string_view::npos ? "" : " '" + std::string(name.substr(slash + 1)) + "'";
}

}  // namespace

Schema scan_schema(std::span<const Tensor> initial, const Schema& element) {
  Schema out;
  for (size_t i = 0; i < initial.size(); ++i) {
    TensorSpec spec = initial[i].view().spec();
    for (int d = 0; d < spec.shape.rank(); ++d) spec.shape.set(d, kAny);
    out.names.push_back("state/" + std::to_string(i));
    out.specs.push_back(spec);
  }
  out.names.insert(out.names.end(), element.names.begin(), element.names.end());
  out.specs.insert(out.specs.end(), element.specs.begin(), element.specs.end());
  return out;
}

Schema Scan::incoming(const Schema& element) const { return scan_schema(initial, element); }

Status Scan::infer(Node& node) const {
  inherit(node);
  const Schema& out = program.schema;
  const Schema in_schema = scan_schema(initial, node.input()->schema);
  const size_t states = initial.size();
  if (out.size() <= states)
    return invalid("the function must return a state of " + std::to_string(states) +
                   " values and an element of at least one, got " + out.text())
        .in_op("scan");
  for (size_t i = 0; i < states; ++i)
    if (initial[i].is_ragged() || out.specs[i].dtype != in_schema.specs[i].dtype ||
        out.specs[i].shape.rank() != in_schema.specs[i].shape.rank())
      return invalid("the state" + of_leaf(out.names[i]) + " begins as " + initial[i].view().spec().text() +
                     ", but the function returns " + out.specs[i].text() +
                     "; begin with a value of that dtype and rank, or return the state with its initial "
                     "dtype and rank")
          .in_op("scan");
  node.schema.names.assign(out.names.begin() + static_cast<std::ptrdiff_t>(states), out.names.end());
  node.schema.specs.assign(out.specs.begin() + static_cast<std::ptrdiff_t>(states), out.specs.end());
  node.schema.structure = structure;
  end_random_access(node);
  return {};
}

std::string Scan::details() const {
  return steps_text(program) + ", state of " + std::to_string(initial.size());
}

}  // namespace headrace
