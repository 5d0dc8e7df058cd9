#include "headrace/graph/verbs/interleave.h"

#include <algorithm>

#include "headrace/graph/file_order.h"
#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"
#include "headrace/graph/walk_nodes.h"

namespace headrace {
namespace {

bool are_equal(const std::vector<uint64_t>& totals) {
  return std::ranges::all_of(totals, [&](uint64_t one) { return one == totals[0]; });
}

}  // namespace

Status Interleave::infer(Node& node) const {
  if (cycle < 1 || block < 1)
    return invalid("cycle and block must be at least 1, got " + std::to_string(cycle) + " and " +
                   std::to_string(block))
        .in_op("interleave");
  if (ordered && node.inputs.size() < 2)
    return invalid({.expected = "datasets and their order", .got = "one input"}).in_op("interleave");
  HEADRACE_TRY(unite(node, num_datasets(node)));
  if (ordered) return infer_ordered(node);
  node.total = sum_of_totals(node);
  node.indexed = node.indexed && node.total;
  return {};
}

// Which readers a rank opens is known for each epoch. If these are always the same, or have as many elements,
// the length is; and so is the element of a position, unless a shard deals the order of each epoch anew: then
// the position of a rank in an epoch is only its own, as behind other borders.
Status Interleave::infer_ordered(Node& node) const {
  const Node& order = *node.inputs.back();
  HEADRACE_TRY(check_file_order(order, num_datasets(node)));
  HEADRACE_TRY(check_ranks_have_files(order));
  node.sharded = order.sharded;
  const auto totals = totals_of(node, num_datasets(node));
  const bool is_indexed = reads_are_indexed(node);
  if (!is_indexed && opens_again(order))
    return invalid({.expected = "random access in readers that are opened more than once in an epoch",
                    .got = "a filter, unbatch or another verb that ends it",
                    .fix = "put repeat(), sample() or select() after interleave"})
        .in_op("interleave");
  const bool is_counted = is_indexed || (totals && !order.sharded);
  if (is_counted && (opens_the_same(order) || are_equal(*totals))) {
    HEADRACE_ASSIGN(const Share share, share_in(order, *totals, 0));
    node.total = share.steps;
  }
  const Shard* shard = find_shard(order);
  const bool is_dealt_anew = shard && shard->deals() && order_varies(order);
  node.indexed = is_indexed && node.total && !is_dealt_anew;
  return {};
}

size_t Interleave::num_datasets(const Node& node) const { return node.inputs.size() - (ordered ? 1 : 0); }

bool Interleave::reads_are_indexed(const Node& node) const {
  const std::span<const NodePtr> datasets(node.inputs.data(), num_datasets(node));
  return std::ranges::all_of(
      datasets, [](const NodePtr& one) { return one->indexed && one->total && *one->total != kInfinite; });
}

std::string Interleave::details() const {
  return "cycle=" + std::to_string(cycle) + ", block=" + std::to_string(block) +
         (ordered ? ", in the order of the last input" : "");
}

}  // namespace headrace
