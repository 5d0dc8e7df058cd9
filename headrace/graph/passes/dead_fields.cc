#include "headrace/graph/passes/dead_fields.h"

#include <algorithm>

#include "headrace/graph/walk_nodes.h"

namespace headrace {
namespace {

// Verbs that pass fields on unchanged and use none.
bool passes_fields(const Node& node) { return facts_of(node).moves_indices || node.as<OnError>(); }

// `node` with the map at the lower end of its verbs narrowed to `kept`; null when that is not possible.
NodePtr narrowed(const Node& node, const std::vector<int>& kept) {
  if (const auto* map = node.as<Map>()) {
    const auto made = make_node(Map{with_outputs(map->program, kept)}, node.inputs, node.made_at);
    return made.ok() ? *made : nullptr;
  }
  return with_data(node, narrowed(*node.input(), kept));
}

const Map* map_of_fields(const Node& node) {
  const Node* below = &node;
  while (passes_fields(*below)) below = below->input().get();
  return below->as<Map>();
}

}  // namespace

Program with_outputs(const Program& program, const std::vector<int>& kept) {
  Program out = program;
  out.outputs.clear();
  std::vector<std::string> names;
  std::vector<TensorSpec> specs;
  for (const int leaf : kept) {
    const auto at = static_cast<size_t>(leaf);
    out.outputs.push_back(program.outputs[at]);
    names.push_back(program.schema.names[at]);
    specs.push_back(program.schema.specs[at]);
  }
  out.schema = Schema::of(std::move(names), std::move(specs));
  return without_dead_steps(out);
}

NodePtr without_dead_fields(const NodePtr& root) {
  NodePtr node = root;
  if (const auto* map = node->as<Map>(); map && map_of_fields(*node->input())) {
    Program program = without_dead_steps(map->program);
    std::vector<int> kept;
    for (const int field : program.input_fields)
      if (field >= 0) kept.push_back(field);
    std::sort(kept.begin(), kept.end());
    if (kept.size() < node->input()->schema.size()) {
      for (int& field : program.input_fields)
        if (field >= 0)
          field = static_cast<int>(std::lower_bound(kept.begin(), kept.end(), field) - kept.begin());
      const NodePtr input = narrowed(*node->input(), kept);
      const auto made = input ? make_node(Map{std::move(program)}, {input}, node->made_at)
                              : Result<NodePtr>(invalid("no fields left"));
      if (made.ok()) node = *made;
    }
  }
  std::vector<NodePtr> inputs;
  bool changed = false;
  for (const NodePtr& input : node->inputs) {
    inputs.push_back(without_dead_fields(input));
    changed = changed || inputs.back() != input;
  }
  if (!changed) return node;
  const NodePtr made = with_inputs(*node, std::move(inputs));
  return made ? made : node;
}

}  // namespace headrace
