#include "headrace/graph/node.h"

#include "headrace/graph/meaning.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {
namespace {

NodePtr number_from(const NodePtr& root, uint32_t& reads, uint32_t& ops) {
  auto copy = std::make_shared<Node>(*root);
  for (NodePtr& input : copy->inputs) input = number_from(input, reads, ops);
  if (auto* read = std::get_if<Read>(&copy->kind)) read->ordinal = reads++;
  if (auto* generate = std::get_if<Generate>(&copy->kind)) generate->ordinal = reads++;
  if (Program* program = program_of(copy->kind))
    for (Call& step : program->steps) step.ordinal = ops++;
  return copy;
}

Result<std::shared_ptr<Node>> inferred(Kind kind, std::vector<NodePtr> inputs, std::string made_at) {
  auto node = std::make_shared<Node>();
  node->kind = std::move(kind);
  node->inputs = std::move(inputs);
  node->made_at = std::move(made_at);
  HEADRACE_TRY(std::visit([&](auto& verb) { return verb.infer(*node); }, node->kind));
  node->size = node->shard && node->total ? Size(shard_size(*node->shard, *node->total)) : node->total;
  return node;
}

}  // namespace

std::string_view kind_name(const Kind& kind) {
  return std::visit([](const auto& verb) { return name_of(verb); }, kind);
}

Program* program_of(Kind& kind) {
  return std::visit(
      [](auto& verb) -> Program* {
        if constexpr (requires { verb.program; })
          return &verb.program;
        else
          return nullptr;
      },
      kind);
}

const Program* program_of(const Kind& kind) { return program_of(const_cast<Kind&>(kind)); }

VerbFacts facts_of(const Node& node) {
  return std::visit([](const auto& verb) { return headrace::facts_of(verb); }, node.kind);
}

bool gathers(const Node& node) { return facts_of(node).gathers; }
bool is_union(const Node& node) { return facts_of(node).is_union; }
size_t num_datasets(const Node& node) {
  if (const auto* interleave = node.as<Interleave>()) return interleave->num_datasets(node);
  return node.inputs.size() - (node.as<Choose>() ? 1 : 0);
}
bool moves_indices(const Node& node) { return node.indexed && facts_of(node).moves_indices; }
bool drops_or_adds(const Node& node) { return facts_of(node).drops_or_adds; }

Result<NodePtr> make_node(Kind kind, std::vector<NodePtr> inputs, std::string made_at) {
  HEADRACE_ASSIGN(std::shared_ptr<Node> node,
                  inferred(std::move(kind), std::move(inputs), std::move(made_at)));
  HEADRACE_TRY(check_meanings(*node));
  return NodePtr(std::move(node));
}

Result<Program> add_engine_field(const NodePtr& node, int field, std::string_view name) {
  if (node->schema.find(name) >= 0)
    return invalid("the sample already has a field '" + std::string(name) + "'; pass another name");
  ProgramBuilder builder(node->schema, "");
  std::vector<std::string> names = node->schema.names;
  std::vector<int> values;
  for (size_t i = 0; i < names.size(); ++i) values.push_back(builder.field(static_cast<int>(i)));
  values.push_back(builder.field(field));
  names.emplace_back(name);
  const std::string& nest = node->schema.structure;
  const std::string leaf = std::to_string(values.size() - 1);
  if (nest.starts_with("["))
    return builder.finish(names, values,
                          nest.substr(0, nest.size() - 1) + (nest.size() > 2 ? "," : "") + leaf + "]");
  if (!nest.starts_with("{")) return builder.finish(names, values, "[0," + leaf + "]");
  return builder.finish(
      names, values,
      nest.substr(0, nest.size() - 1) + (nest.size() > 2 ? "," : "") + Value(name).dump() + ":" + leaf + "}");
}

NodePtr number(const NodePtr& root) {
  uint32_t reads = 0, ops = 0;
  return number_from(root, reads, ops);
}

NodePtr with_inputs(const Node& node, std::vector<NodePtr> inputs) {
  auto made = inferred(node.kind, std::move(inputs), node.made_at);
  return made.ok() ? NodePtr(*std::move(made)) : nullptr;
}

}  // namespace headrace
