#include "headrace/graph/passes/order_of_files.h"

#include "headrace/formats/arrays/arrays.h"
#include "headrace/graph/verbs/inference.h"
#include "headrace/graph/walk_nodes.h"

namespace headrace {
namespace {

bool stays(const Node& node) { return !order_varies(node) && !node.sharded; }

Status refuse(const Node& node, std::string fix) {
  const std::string verb(kind_name(node.kind));
  return invalid({.expected = "verbs that choose or move file names between a shuffle, sample or shard and "
                              "interleave",
                  .got = "'" + verb + "'",
                  .fix = std::move(fix)})
      .in_op("interleave");
}

Result<NodePtr> made_again(const Node& node, std::vector<NodePtr> inputs) {
  Kind kind = node.kind;
  if (auto* shard = std::get_if<Shard>(&kind)) shard->whole = true;
  return make_node(std::move(kind), std::move(inputs), node.made_at);
}

// Goes down to where the order stays the same. Verbs on elements above that place are applied to the list.
class TakingApart {
 public:
  explicit TakingApart(OrderedFiles& out) : out_(out) {}

  Result<NodePtr> visit(const NodePtr& node) {
    if (stays(*node)) return list(node);
    const auto* on_error = node->as<OnError>();
    if (node->as<Map>() || (on_error && on_error->policy == OnErrorPolicy::raise)) {
      maps_.push_back(node.get());
      HEADRACE_ASSIGN(NodePtr below, visit_input(*node, 0));
      maps_.pop_back();
      return below;
    }
    if (node->as<Shard>()) {
      HEADRACE_ASSIGN(NodePtr below, visit_input(*node, 0));
      return made_again(*node, {std::move(below)});
    }
    const auto* shuffle = node->as<Shuffle>();
    if (shuffle && shuffle->blocks > 0)
      return refuse(*node, "shuffle the names without blocks=, which is for samples");
    if (!moves_indices(*node) && !node->as<Concatenate>())
      return refuse(*node, "put it before them, where the order is the same in every epoch");
    std::vector<NodePtr> inputs = node->inputs;
    for (size_t i = 0; i < (node->as<Concatenate>() ? inputs.size() : 1); ++i) {
      HEADRACE_ASSIGN(inputs[i], visit_input(*node, i));
    }
    return made_again(*node, std::move(inputs));
  }

 private:
  Result<NodePtr> visit_input(const Node& node, size_t i) {
    place_.push_back(i);
    HEADRACE_ASSIGN(NodePtr made, visit(node.inputs[i]));
    place_.pop_back();
    return made;
  }
  Result<NodePtr> list(const NodePtr& node) {
    NodePtr elements = node;
    for (auto map = maps_.rbegin(); map != maps_.rend(); ++map) {
      HEADRACE_ASSIGN(elements, make_node((*map)->kind, {elements}, (*map)->made_at));
    }
    out_.files.push_back(std::move(elements));
    out_.places.push_back(place_);
    const auto first = static_cast<int64_t>(count_);
    count_ += *node->total;
    HEADRACE_ASSIGN(SourcePtr numbers, range_source(first, static_cast<int64_t>(count_)));
    return make_node(Read{std::move(numbers)}, {}, node->made_at);
  }

  OrderedFiles& out_;
  std::vector<const Node*> maps_;  // from the top down to where it is
  std::vector<size_t> place_;
  uint64_t count_ = 0;
};

}  // namespace

Result<NodePtr> dealing_whole_files(const NodePtr& order) {
  if (!order->sharded) return order;
  std::vector<NodePtr> inputs;
  for (const NodePtr& input : order->inputs) {
    HEADRACE_ASSIGN(NodePtr whole, dealing_whole_files(input));
    inputs.push_back(std::move(whole));
  }
  return made_again(*order, std::move(inputs));
}

Result<std::optional<OrderedFiles>> order_of_files(const NodePtr& files) {
  if (stays(*files)) return std::optional<OrderedFiles>();
  if (!files->indexed)
    return invalid({.expected = "random access in file names that are shuffled or dealt to ranks",
                    .got = "a filter, window shuffle or another verb that ends it",
                    .fix = "put the filter first, in a list of its own, and shuffle without window="})
        .in_op("interleave");
  if (!files->total || *files->total == kInfinite)
    return invalid({.expected = "file names that end",
                    .got = "an endless repeat",
                    .fix = "put repeat() after interleave"})
        .in_op("interleave");
  OrderedFiles out;
  HEADRACE_ASSIGN(out.order, TakingApart(out).visit(files));
  return std::optional<OrderedFiles>(std::move(out));
}

}  // namespace headrace
