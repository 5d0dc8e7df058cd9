#include "headrace/run/lower/lower_level.h"

#include <algorithm>

#include "headrace/graph/moving_parts.h"
#include "headrace/graph/walk_nodes.h"
#include "headrace/run/element_cache/disk_cache.h"
#include "headrace/run/element_cache/extra_cache.h"
#include "headrace/run/measure/machine.h"
#include "headrace/run/order/part_order.h"
#include "headrace/run/order/reader_order.h"
#include "headrace/run/read/fetch.h"

namespace headrace {
namespace {

void add_data_keys(const LeafPlan& leaf, std::string& key) {
  if (leaf.source) key += data_key(*leaf.source);
  const auto add = [&](const Level& level) {
    for (const LeafPlan& below : level.leaves) add_data_keys(below, key);
  };
  if (leaf.rows) add(*leaf.rows);
  for (const auto& input : leaf.zipped) add(*input);
}

bool shares_blocks(const LeafPlan& leaf) {
  const auto any_shares = [](const auto& level) { return std::ranges::any_of(level->leaves, shares_blocks); };
  if (leaf.source) return Fetcher::shares_blocks(*leaf.source);
  return leaf.rows ? any_shares(leaf.rows) : std::ranges::any_of(leaf.zipped, any_shares);
}

class LevelLowering {
 public:
  LevelLowering(Level& level, uint32_t& leaves, const std::shared_ptr<const AskedOrders>& asked)
      : level_(level), leaves_(leaves), asked_(asked) {}

  Result<std::unique_ptr<Order>> visit(const Node& node) {
    return std::visit([&](const auto& kind) { return lower(node, kind); }, node.kind);
  }

 private:
  using Made = Result<std::unique_ptr<Order>>;

  Made lower(const Node& node, const Read& read) {
    LeafPlan leaf;
    leaf.source = read.source;
    leaf.read = read.ordinal;
    leaf.made_at = made_at(node);
    leaf.incoming = node.schema;
    return add(std::move(leaf));
  }
  Made lower(const Node& node, const Batch& batch) {
    LeafPlan leaf;
    leaf.batch = batch;
    leaf.shift = batch.size;
    HEADRACE_ASSIGN(leaf.rows, lower_level(*node.input(), leaves_, asked_));
    leaf.made_at = made_at(node);
    leaf.incoming = node.schema;
    return add(std::move(leaf));
  }
  Made lower(const Node& node, const Map& map) {
    const size_t first = level_.leaves.size();
    HEADRACE_ASSIGN(auto order, visit(*node.input()));
    for (size_t i = first; i < level_.leaves.size(); ++i) level_.leaves[i].programs.push_back(map.program);
    return order;
  }
  Made lower(const Node& node, const OnError& on_error) {
    const size_t first = level_.leaves.size();
    HEADRACE_ASSIGN(auto order, visit(*node.input()));
    if (on_error.policy != OnErrorPolicy::replace) return order;
    for (size_t i = first; i < level_.leaves.size(); ++i) {
      LeafPlan& leaf = level_.leaves[i];
      leaf.replaces.push_back({leaf.programs.size(), marks_, order.get(), *node.input()->total});
    }
    return Order::mark(std::move(order), marks_++);
  }
  Made lower(const Node& node, const Cache& cache) {
    const size_t first = level_.leaves.size();
    HEADRACE_ASSIGN(auto order, visit(*node.input()));
    const size_t most = cache.max_memory > 0 ? cache.max_memory : usable_memory_bytes() / 2;
    std::shared_ptr<ElementCache> elements;
    if (cache.path.empty() || (cache.memory && cache.memory->given())) {
      elements = cache.memory->of(cache.key, most, cache.moving ? std::string(kPartsMove) : "");
    } else {
      std::string key = cache.key;
      for (size_t i = first; i < level_.leaves.size(); ++i) add_data_keys(level_.leaves[i], key);
      HEADRACE_ASSIGN(elements, disk_cache(cache.path, hash_text(key)));
    }
    for (size_t i = first; i < level_.leaves.size(); ++i) {
      LeafPlan& leaf = level_.leaves[i];
      leaf.caches.push_back({leaf.programs.size(), i - first, elements});
    }
    return order;
  }
  Made lower(const Node& node, const Shuffle& written) {
    HEADRACE_ASSIGN(auto order, visit(*node.input()));
    const Shuffle shuffle = of_part(written, node);
    if (shuffle.blocks == 0) {
      keep_what_fits();
      return Order::shuffle(std::move(order), shuffle, *node.total);
    }
    std::vector<SourcePtr> sources;
    for (const LeafPlan& leaf : level_.leaves) sources.push_back(leaf.source);
    return Order::shuffle_blocks(std::move(order), shuffle, *node.total, sources, level_.kept_blocks);
  }
  Made lower(const Node& node, const Repeat& repeat) {
    HEADRACE_ASSIGN(auto order, visit(*node.input()));
    return Order::repeat(std::move(order), repeat.times, std::max<uint64_t>(1, *node.input()->total));
  }
  Made lower(const Node& node, const Skip& skip) {
    HEADRACE_ASSIGN(auto order, visit(*node.input()));
    return Order::skip(std::move(order), skip.count);
  }
  Made lower(const Node& node, const Take&) { return visit(*node.input()); }
  Made lower(const Node& node, const AssertCardinality&) { return visit(*node.input()); }
  Made lower(const Node& node, const Shard& shard) {
    if (shard.deals()) {
      level_.shard = shard;
      return visit(*node.input());
    }
    level_.marks = shard.even == Even::pad;
    HEADRACE_ASSIGN(auto order, visit(*node.input()));
    return part_order(std::move(order), shard, *node.input()->total);
  }
  Made lower(const Node& node, const Concatenate&) {
    HEADRACE_ASSIGN(Branches branches, lower_branches(node));
    return Order::concatenate(std::move(branches.orders), std::move(branches.totals));
  }
  Made lower(const Node& node, const Interleave& interleave) {
    HEADRACE_ASSIGN(Branches branches, lower_branches(node));
    if (!interleave.ordered)
      return Order::interleave(std::move(branches.orders), std::move(branches.totals), interleave.cycle,
                               interleave.block);
    const Shard* shard = find_shard(*node.inputs.back());
    level_.marks = level_.marks || (shard && shard->even == Even::pad);
    auto order =
        reader_order(std::move(branches.orders), std::move(branches.totals), interleave, node.inputs.back());
    if (!node.indexed) level_.by_epoch = order.get();
    return order;
  }
  Made lower(const Node& node, const Window& window) {
    LeafPlan leaf;
    leaf.batch = {window.size, window.drop_last, window.ragged};
    leaf.shift = window.shift, leaf.stride = window.stride;
    HEADRACE_ASSIGN(leaf.rows, lower_level(*node.input(), leaves_, asked_));
    leaf.made_at = made_at(node);
    leaf.incoming = node.schema;
    return add(std::move(leaf));
  }
  Made lower(const Node& node, const Zip& zip) {
    LeafPlan leaf;
    for (const NodePtr& input : node.inputs) {
      HEADRACE_ASSIGN(auto level, lower_level(*input, leaves_, asked_));
      leaf.zipped.push_back(std::move(level));
    }
    leaf.ids = zip.ids;
    leaf.made_at = made_at(node);
    leaf.incoming = node.schema;
    return add(std::move(leaf));
  }
  Made lower(const Node& node, const Mix& mix) {
    HEADRACE_ASSIGN(Branches branches, lower_branches(node));
    return Order::mix(std::move(branches.orders), std::move(branches.totals), mix);
  }
  Made lower(const Node& node, const Choose& choose) {
    HEADRACE_ASSIGN(Branches branches, lower_branches(node));
    return Order::choose(std::move(branches.orders), std::move(branches.totals), choose);
  }
  Made lower(const Node& node, const Draw& draw) {
    HEADRACE_ASSIGN(auto order, visit(*node.input()));
    keep_what_fits();
    return Order::sample(std::move(order), of_part(draw, node));
  }
  Made lower(const Node& node, const SortBy& sort) {
    HEADRACE_ASSIGN(auto order, visit(*node.input()));
    keep_what_fits();
    return Order::chosen(std::move(order), sort.order, nullptr);
  }
  Made lower(const Node& node, const Select& select) {
    HEADRACE_ASSIGN(auto order, visit(*node.input()));
    keep_what_fits();
    return Order::chosen(std::move(order), select.order, select.occurrences);
  }
  Made lower(const Node& node, const Reorder& reorder) {
    HEADRACE_ASSIGN(auto order, visit(*node.input()));
    keep_what_fits();
    return asked_order(std::move(order), reorder.order, asked_);
  }
  template <class Border> Made lower(const Node& node, const Border&) {
    return internal_error(std::string(kind_name(node.kind)) + " has no random access");
  }

  // An order that jumps between all blocks needs each of them again.
  void keep_what_fits() {
    if (std::ranges::any_of(level_.leaves, shares_blocks)) level_.kept_blocks = Fetcher::kAllThatFit;
  }

  struct Branches {
    std::vector<std::unique_ptr<Order>> orders;
    std::vector<uint64_t> totals;
  };
  Result<Branches> lower_branches(const Node& node) {
    Branches out;
    for (size_t i = 0; i < num_datasets(node); ++i) {
      HEADRACE_ASSIGN(auto order, visit(*node.inputs[i]));
      out.orders.push_back(std::move(order));
      out.totals.push_back(*node.inputs[i]->total);
    }
    return out;
  }

  static std::string made_at(const Node& node) {
    return node.made_at.empty() ? "" : std::string(kind_name(node.kind)) + " at " + node.made_at;
  }

  Made add(LeafPlan leaf) {
    leaf.ordinal = leaves_++;
    level_.leaves.push_back(std::move(leaf));
    return Order::leaf(static_cast<uint32_t>(level_.leaves.size() - 1));
  }

  Level& level_;
  uint32_t& leaves_;
  const std::shared_ptr<const AskedOrders>& asked_;
  uint32_t marks_ = 0;
};

// Fills in `straight`: the program before a cache that the run added and the one after it, joined; if the one
// after it is still in this leaf.
void find_straight(LeafPlan& leaf) {
  if (leaf.caches.size() != 1) return;
  const auto* extra = dynamic_cast<const ExtraCache*>(leaf.caches[0].elements.get());
  if (!extra) return;
  const size_t covered = leaf.caches[0].covered;
  if (covered == leaf.programs.size()) {
    leaf.straight = leaf.programs;
    return;
  }
  const auto begin = leaf.programs.begin();
  leaf.straight.assign(begin, begin + static_cast<std::ptrdiff_t>(covered - 1));
  leaf.straight.push_back(extra->straight());
  leaf.straight.insert(leaf.straight.end(), begin + static_cast<std::ptrdiff_t>(covered + 1),
                       leaf.programs.end());
}

}  // namespace

Result<std::unique_ptr<Level>> lower_level(const Node& node, uint32_t& leaves,
                                           const std::shared_ptr<const AskedOrders>& asked) {
  auto level = std::make_unique<Level>();
  HEADRACE_ASSIGN(level->order, LevelLowering(*level, leaves, asked).visit(node));
  level->total = node.indexed ? *node.total : kInfinite;
  level->schema = node.schema;
  for (LeafPlan& leaf : level->leaves) find_straight(leaf);
  level->reads = std::ranges::any_of(level->leaves, &LeafPlan::is_read);
  level->all_read = std::ranges::all_of(level->leaves, &LeafPlan::is_read);
  return level;
}

}  // namespace headrace
