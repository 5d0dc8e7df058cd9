#include "headrace/graph/passes/place_on_error.h"

#include <utility>

namespace headrace {
namespace {

// Verbs that process an element and may fail; the others only determine the order of elements.
bool may_fail(const Node& node) {
  return node.as<Read>() || node.as<Map>() || node.as<Filter>() || node.as<Unbatch>() ||
         node.as<TakeWhile>() || node.as<Unique>() || node.as<Scan>();
}

struct Covered {
  NodePtr node;
  bool gathers = false;   // contains a batch or another verb that gathers
  bool may_fail = false;  // a verb above those may fail
};
// `node` with the on_error below each of the nearest verbs that gather.
Result<Covered> cover(const NodePtr& node, const Node& on_error) {
  const bool gathering = gathers(*node);
  Covered out{.node = node, .gathers = gathering, .may_fail = !gathering && may_fail(*node)};
  std::vector<NodePtr> inputs;
  for (const NodePtr& input : node->inputs) {
    if (gathering) {
      HEADRACE_ASSIGN(NodePtr below, place_on_error(with_inputs(on_error, {input})));
      inputs.push_back(std::move(below));
      continue;
    }
    HEADRACE_ASSIGN(Covered below, cover(input, on_error));
    out.gathers = out.gathers || below.gathers, out.may_fail = out.may_fail || below.may_fail;
    inputs.push_back(std::move(below.node));
  }
  if (!out.gathers) return out;
  out.node = with_inputs(*node, inputs);
  if (out.node) return out;
  const std::string verb(kind_name(node->kind));
  return invalid("\"skip\" drops samples from the batches below " + verb + ", but " + verb +
                 " needs to know how many there are; put it before the batch, or use \"replace\"" +
                 (on_error.made_at.empty() ? "" : " (on_error at " + on_error.made_at + ")"))
      .in_op("on_error");
}

}  // namespace

Result<NodePtr> place_on_error(const NodePtr& node) {
  std::vector<NodePtr> inputs;
  for (const NodePtr& input : node->inputs) {
    HEADRACE_ASSIGN(NodePtr placed, place_on_error(input));
    inputs.push_back(std::move(placed));
  }
  NodePtr out = inputs.empty() ? node : with_inputs(*node, inputs);
  const auto* on_error = out->as<OnError>();
  if (!on_error || on_error->policy == OnErrorPolicy::raise) return out;
  HEADRACE_ASSIGN(Covered below, cover(out->input(), *out));
  if (!below.gathers) return out;
  if (on_error->policy == OnErrorPolicy::replace || !below.may_fail) return std::move(below.node);
  return with_inputs(*out, {std::move(below.node)});
}

}  // namespace headrace
