#include "headrace/graph/verbs/zip.h"

#include <algorithm>

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {
namespace {

// The nested structure of the inputs, each replaced by the structure of its fields with ordinals counted on.
Result<Value> nested(const Value& nest, const std::string& path, const Node& node, Schema& out,
                     int64_t& seen) {
  const auto below = [&](const std::string& name) { return path.empty() ? name : path + "/" + name; };
  if (const auto* object = nest.object()) {
    Value::Object made;
    for (const auto& [name, value] : *object) {
      HEADRACE_ASSIGN(Value inner, nested(value, below(name), node, out, seen));
      made.emplace_back(name, std::move(inner));
    }
    return Value(std::move(made));
  }
  if (const auto* list = nest.list()) {
    Value::List made;
    for (size_t i = 0; i < list->size(); ++i) {
      HEADRACE_ASSIGN(Value inner, nested((*list)[i], below(std::to_string(i)), node, out, seen));
      made.push_back(std::move(inner));
    }
    return Value(std::move(made));
  }
  const int64_t input = nest.integer() ? *nest.integer() : -1;
  if (input != seen || input >= static_cast<int64_t>(node.inputs.size()))
    return invalid("the structure must name each input once and in order, got " + nest.dump()).in_op("zip");
  ++seen;
  const Schema& schema = node.inputs[static_cast<size_t>(input)]->schema;
  const auto first = static_cast<int64_t>(out.size());
  const bool bare = schema.size() == 1 && schema.structure == "0";
  for (size_t i = 0; i < schema.size(); ++i) {
    out.names.push_back(bare && !path.empty() ? path : below(schema.names[i]));
    out.specs.push_back(schema.specs[i]);
  }
  HEADRACE_ASSIGN(const Value fields, Value::parse(schema.structure));
  const auto counted_on = [first](const Value& value, const auto& self) -> Value {
    if (value.integer()) return Value(*value.integer() + first);
    if (const auto* list = value.list()) {
      Value::List made;
      for (const Value& item : *list) made.push_back(self(item, self));
      return Value(std::move(made));
    }
    Value::Object made;
    for (const auto& [name, item] : *value.object()) made.emplace_back(name, self(item, self));
    return Value(std::move(made));
  };
  return counted_on(fields, counted_on);
}

}  // namespace

Status Zip::infer(Node& node) const {
  if (node.inputs.empty()) return invalid("expected at least one dataset").in_op("zip");
  if (ids >= node.inputs.size())
    return invalid("ids must name one of the " + std::to_string(node.inputs.size()) + " inputs, got " +
                   std::to_string(ids))
        .in_op("zip");
  bool known = true, empty = false;
  uint64_t total = kInfinite;
  for (const NodePtr& input : node.inputs) {
    HEADRACE_TRY(refuse_shard(node, *input));
    node.indexed = node.indexed && input->indexed;
    known = known && input->total;
    empty = empty || input->total == Size(0);
    if (input->total) total = std::min(total, *input->total);
  }
  node.total = empty ? Size(0) : known ? Size(total) : Size();
  HEADRACE_ASSIGN(const Value nest, Value::parse(structure));
  int64_t seen = 0;
  HEADRACE_ASSIGN(const Value made, nested(nest, "", node, node.schema, seen));
  if (seen != static_cast<int64_t>(node.inputs.size()))
    return invalid("the structure must name each of the " + std::to_string(node.inputs.size()) +
                   " inputs once, got " + structure)
        .in_op("zip");
  node.schema.structure = made.dump();
  return {};
}

}  // namespace headrace
