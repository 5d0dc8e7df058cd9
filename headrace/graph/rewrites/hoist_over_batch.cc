#include <algorithm>

#include "headrace/graph/rewrites/rewrites.h"

namespace headrace {
namespace {

// The same steps over batched fields; null when an operator does not take them.
std::optional<Program> batched(const Program& program, const Schema& incoming) {
  ProgramBuilder builder(incoming, "");
  std::vector<int> value_of(program.specs.size(), -1);
  for (size_t i = 0; i < program.input_fields.size(); ++i)
    value_of[i] = builder.field(program.input_fields[i]);
  for (const Call& call : program.steps) {
    std::vector<int> inputs;
    for (int v : call.inputs) inputs.push_back(value_of[static_cast<size_t>(v)]);
    auto made = builder.add_op(call.op, inputs);
    if (!made.ok()) return std::nullopt;
    for (size_t i = 0; i < made->size(); ++i)
      value_of[static_cast<size_t>(call.first_output) + i] = (*made)[i];
  }
  std::vector<int> outputs;
  for (int v : program.outputs) outputs.push_back(value_of[static_cast<size_t>(v)]);
  auto out = builder.finish(program.schema.names, outputs, program.schema.structure);
  if (!out.ok() || out->steps.size() != program.steps.size()) return std::nullopt;
  for (size_t s = 0; s < program.steps.size(); ++s) {
    out->steps[s].ordinal = program.steps[s].ordinal;
    out->steps[s].made_at = program.steps[s].made_at;
  }
  return *out;
}

// Whether samples leave it with the work that makes them. After what only hands them on, a map is work of its
// own and stands in the state: there it stays.
bool makes_samples(const Node& node) {
  if (node.indexed || node.as<Map>() || node.as<Filter>() || node.as<Unbatch>() || gathers(node)) return true;
  const auto* on_error = node.as<OnError>();
  return on_error && (on_error->policy == OnErrorPolicy::skip || makes_samples(*node.input()));
}

}  // namespace

// batch(map(f, x)) -> map(f, batch(x)) when every operator of f is element-wise and every field has a fixed
// shape.
NodePtr hoist_over_batch(const NodePtr& node) {
  const Batch* batch = node->as<Batch>();
  if (!batch || batch->ragged || batch->padding) return node;
  const NodePtr& inner = node->input();
  const Map* map = inner->as<Map>();
  if (!map || !makes_samples(*inner->input())) return node;
  const Program& program = map->program;
  const bool own_fields =
      std::all_of(program.input_fields.begin(), program.input_fields.end(), [](int f) { return f >= 0; });
  const bool elementwise = std::all_of(program.steps.begin(), program.steps.end(), [](const Call& c) {
    return c.op->elementwise() && c.op->bound().empty();
  });
  const bool fixed = std::all_of(program.specs.begin(), program.specs.end(),
                                 [](const TensorSpec& s) { return s.is_static(); });
  if (!own_fields || !elementwise || !fixed) return node;
  // Only what the program reads is batched: choose those fields first.
  auto below = make_node(node->kind, {inner->input()}, node->made_at);
  if (!below.ok()) return node;
  for (const TensorSpec& spec : inner->input()->schema.specs)
    if (!spec.is_static()) return node;
  auto over = batched(program, (*below)->schema);
  if (!over) return node;
  auto made = make_node(Map{*over}, {*below}, inner->made_at);
  return made.ok() ? *made : node;
}

}  // namespace headrace
