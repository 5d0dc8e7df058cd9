#include "headrace/graph/file_order.h"

#include <algorithm>
#include <numeric>

#include "headrace/core/random/alias_table.h"
#include "headrace/core/random/key.h"
#include "headrace/core/random/permutation.h"
#include "headrace/core/random/weighted_order.h"
#include "headrace/graph/verbs/inference.h"
#include "headrace/graph/walk_nodes.h"

namespace headrace {
namespace {

using Openings = std::vector<OpenedReader>;

bool has_side_input(const Node& node) { return node.as<Draw>() || node.as<SortBy>() || node.as<Select>(); }

size_t num_data(const Node& node) { return has_side_input(node) ? 1 : node.inputs.size(); }

uint64_t num_readers(const Node& node) {
  if (const auto* read = node.as<Read>()) return read->source->size();
  uint64_t out = 0;
  for (size_t i = 0; i < num_data(node); ++i) out += num_readers(*node.inputs[i]);
  return out;
}

bool may_stand(const Node& node) {
  const auto* shuffle = node.as<Shuffle>();
  if (shuffle) return shuffle->window == 0 && shuffle->blocks == 0;
  return node.as<Read>() || node.as<Shard>() || node.as<Repeat>() || node.as<Take>() || node.as<Skip>() ||
         node.as<Concatenate>() || node.as<AssertCardinality>() || has_side_input(node);
}

// All openings of an epoch, of which a moving shard deals; a fixed one is part of the order.
class Listing {
 public:
  explicit Listing(uint32_t rank) : rank_(rank) {}

  // Readers are counted from `first`.
  Openings of(const Node& node, uint64_t epoch, uint32_t first) const {
    return std::visit([&](const auto& verb) { return list(node, verb, epoch, first); }, node.kind);
  }

 private:
  static Openings list(const Node&, const Read& read, uint64_t epoch, uint32_t first) {
    Openings out;
    for (uint64_t i = 0; i < read.source->size(); ++i)
      out.push_back({.reader = first + static_cast<uint32_t>(i), .epoch = epoch});
    return out;
  }
  Openings list(const Node& node, const Shuffle& shuffle, uint64_t epoch, uint32_t first) const {
    const Openings below = of(*node.input(), epoch, first);
    std::vector<uint64_t> places(below.size());
    std::iota(places.begin(), places.end(), uint64_t{0});
    Permutation(seed_at(node, shuffle.seed), shuffle.epoch_of_order(epoch), below.size()).apply(places);
    return chosen(below, places);
  }
  Openings list(const Node& node, const Draw& draw, uint64_t epoch, uint32_t first) const {
    const Openings below = of(*node.input(), epoch, first);
    const uint64_t seed = seed_at(node, draw.seed);
    if (!draw.replacement)
      return chosen(below, weighted_order(*draw.weights, seed, epoch, draw.count.value_or(below.size())));
    Openings out;
    for (uint64_t i = 0; i < *node.total; ++i) {
      out.push_back(below[draw.table->draw_at(seed, epoch, i)]);
      out.back().occurrence += static_cast<uint32_t>(i);
    }
    return out;
  }
  Openings list(const Node& node, const SortBy& sort, uint64_t epoch, uint32_t first) const {
    return chosen(of(*node.input(), epoch, first), *sort.order);
  }
  Openings list(const Node& node, const Select& select, uint64_t epoch, uint32_t first) const {
    Openings out = chosen(of(*node.input(), epoch, first), *select.order);
    for (size_t i = 0; select.occurrences && i < out.size(); ++i)
      out[i].occurrence += (*select.occurrences)[i];
    return out;
  }
  Openings list(const Node& node, const Repeat& repeat, uint64_t epoch, uint32_t first) const {
    Openings out;
    for (uint64_t pass = 0; pass < repeat.times; ++pass)
      append(out, of(*node.input(), epoch_of_pass(epoch, repeat.times, pass), first));
    return out;
  }
  Openings list(const Node& node, const AssertCardinality&, uint64_t epoch, uint32_t first) const {
    return of(*node.input(), epoch, first);
  }
  Openings list(const Node& node, const Take& take, uint64_t epoch, uint32_t first) const {
    Openings out = of(*node.input(), epoch, first);
    out.resize(std::min<uint64_t>(out.size(), take.count));
    return out;
  }
  Openings list(const Node& node, const Skip& skip, uint64_t epoch, uint32_t first) const {
    const Openings below = of(*node.input(), epoch, first);
    const auto dropped = static_cast<std::ptrdiff_t>(std::min<uint64_t>(below.size(), skip.count));
    return {below.begin() + dropped, below.end()};
  }
  Openings list(const Node& node, const Concatenate&, uint64_t epoch, uint32_t first) const {
    Openings out;
    for (const NodePtr& input : node.inputs) {
      append(out, of(*input, epoch, first));
      first += static_cast<uint32_t>(num_readers(*input));
    }
    return out;
  }
  Openings list(const Node& node, const Shard& shard, uint64_t epoch, uint32_t first) const {
    const Openings below = of(*node.input(), epoch, first);
    if (shard.deals()) return below;
    const uint64_t own = own_size(shard, below.size(), rank_);
    const uint64_t each = below.size() / shard.world, rest = below.size() % shard.world;
    const uint64_t begin = shard.contiguous ? each * rank_ + std::min<uint64_t>(rank_, rest) : rank_;
    Openings out;
    for (uint64_t i = 0; i < own; ++i) out.push_back(below[begin + i * (shard.contiguous ? 1 : shard.world)]);
    return out;
  }
  template <class Verb> Openings list(const Node&, const Verb&, uint64_t, uint32_t) const { return {}; }

  uint64_t seed_at(const Node& node, uint64_t seed) const {
    const Shard* shard = find_shard(node);
    return shard && shard->fixed ? seed_of_rank(seed, rank_) : seed;
  }
  static Openings chosen(const Openings& below, const std::vector<uint64_t>& places) {
    Openings out;
    for (const uint64_t place : places) out.push_back(below[place]);
    return out;
  }
  static void append(Openings& out, const Openings& more) { out.insert(out.end(), more.begin(), more.end()); }

  uint32_t rank_;
};

Openings dealt(const Openings& all, const Shard& shard, uint32_t rank) {
  Openings out;
  for (uint64_t i = rank; i < all.size(); i += shard.world) out.push_back(all[i]);
  return out;
}

// The openings of each rank.
std::vector<Openings> openings_of_ranks(const Node& order, uint64_t epoch) {
  const Shard* shard = find_shard(order);
  std::vector<Openings> out;
  if (!shard || shard->deals()) {
    const Openings all = Listing(0).of(order, epoch, 0);
    for (uint32_t rank = 0; rank < (shard ? shard->world : 1); ++rank)
      out.push_back(shard ? dealt(all, *shard, rank) : all);
    return out;
  }
  for (uint32_t rank = 0; rank < shard->world; ++rank) out.push_back(Listing(rank).of(order, epoch, 0));
  return out;
}

Status lacks(const Shard& shard, const std::vector<uint64_t>& counts, std::string_view what) {
  const auto without = std::ranges::find(counts, 0u);
  const uint64_t all = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  if (without == counts.end() || all == 0) return {};
  return invalid({.expected = std::string(what) + " for each of " + std::to_string(shard.world) + " ranks",
                  .got = "none for rank " + std::to_string(without - counts.begin()) + ", of " +
                         std::to_string(all),
                  .fix = "put shard after interleave, where it deals samples"})
      .in_op("shard");
}

// The node with the length that it has in an epoch. Null if it has none.
NodePtr sized_in(const NodePtr& node, uint64_t epoch) {
  if (node->total) return node;
  auto out = std::make_shared<Node>(*node);
  if (node->as<Interleave>()) {
    const Result<Share> share = share_in(*node->inputs.back(), *totals_of(*node, num_datasets(*node)), epoch);
    if (share.ok()) out->total = out->size = share->steps;
  } else if (const auto* repeat = node->as<Repeat>()) {
    out->total = repeat->times == 0 ? kInfinite : 0;
    for (uint64_t pass = 0; pass < repeat->times && out->total; ++pass) {
      const NodePtr one = sized_in(node->input(), epoch_of_pass(epoch, repeat->times, pass));
      out->total = one && one->total ? Size(add_sizes(*out->total, *one->total)) : Size();
    }
    out->size = out->total;
  } else {
    const NodePtr below = sized_in(node->input(), epoch);
    return below ? with_inputs(*node, {below}) : nullptr;
  }
  return out;
}

}  // namespace

uint64_t seed_of_rank(uint64_t seed, uint32_t rank) {
  constexpr uint32_t kPart = 0xFA27;
  return rank > 0 ? Key::k1(seed, rank, kPart, 0) : seed;
}

Status check_file_order(const Node& order, size_t readers) {
  if (const Node* wrong = find_node(order, [](const Node& node) { return !may_stand(node); }))
    return invalid({.expected = "shuffle, shard, take, skip, repeat, sample, sort_by, select and concatenate "
                                "before interleave, which choose files",
                    .got = std::string(kind_name(wrong->kind)),
                    .fix = "put " + std::string(kind_name(wrong->kind)) + "() after interleave"})
        .in_op("interleave");
  if (!order.indexed || !order.total || *order.total == kInfinite)
    return invalid({.expected = "an order of the readers that ends", .got = "one that does not"})
        .in_op("interleave");
  if (num_readers(order) != readers)
    return invalid({.expected = "an order of " + std::to_string(readers) + " readers",
                    .got = "one of " + std::to_string(num_readers(order))})
        .in_op("interleave");
  return {};
}

Openings openings_in(const Node& order, uint64_t epoch) {
  const Shard* shard = find_shard(order);
  const Openings all = Listing(shard ? shard->rank : 0).of(order, epoch, 0);
  return shard && shard->deals() ? dealt(all, *shard, shard->rank) : all;
}

bool opens_again(const Node& order) {
  return find_node(order, [](const Node& node) {
    const auto* draw = node.as<Draw>();
    const auto* select = node.as<Select>();
    return node.as<Repeat>() || (draw && draw->replacement) || (select && select->occurrences);
  });
}

bool opens_the_same(const Node& order) {
  const Shard* shard = find_shard(order);
  if (shard && shard->deals() && order_varies(order)) return false;
  return !find_node(order, [](const Node& node) {
    const bool chooses = node.as<Take>() || node.as<Skip>() || node.as<Select>();
    return node.as<Draw>() || (chooses && order_varies(*node.input()));
  });
}

Result<Share> share_in(const Node& order, const std::vector<uint64_t>& totals, uint64_t epoch) {
  std::vector<uint64_t> samples;
  for (const Openings& openings : openings_of_ranks(order, epoch)) {
    samples.push_back(0);
    for (const OpenedReader& one : openings) samples.back() = add_sizes(samples.back(), totals[one.reader]);
  }
  uint64_t all = 0;
  for (const uint64_t one : samples) all = add_sizes(all, one);
  const Shard* shard = find_shard(order);
  if (!shard) return Share{all, all, all};
  if (shard->even != Even::drop) HEADRACE_TRY(lacks(*shard, samples, "samples"));
  const auto [least, most] = std::ranges::minmax(samples);
  return Share{samples[shard->rank], shard->even == Even::drop ? least : most, all};
}

Status check_ranks_have_files(const Node& order) {
  const Shard* shard = find_shard(order);
  if (!shard) return {};
  std::vector<uint64_t> files;
  for (const Openings& openings : openings_of_ranks(order, 0)) files.push_back(openings.size());
  return lacks(*shard, files, "files");
}

const Node* interleave_of_dealt_files(const Node& root) {
  return find_node(root, [](const Node& node) {
    const auto* interleave = node.as<Interleave>();
    return interleave && interleave->ordered && node.inputs.back()->sharded;
  });
}

bool is_of_one_rank(const Node& root) {
  const Shard* shard = find_shard(root);
  return shard && (shard->fixed || interleave_of_dealt_files(root));
}

bool is_even_each_epoch(const Node& root) {
  const auto* interleave = root.as<Interleave>();
  if (interleave && interleave->ordered) return interleave->reads_are_indexed(root);
  if (root.total) return true;
  const auto* on_error = root.as<OnError>();
  const bool keeps = root.as<Map>() || root.as<Batch>() || root.as<Window>() || root.as<Shuffle>() ||
                     root.as<Scan>() || root.as<Take>() || root.as<Skip>() || root.as<Repeat>() ||
                     (on_error && on_error->policy != OnErrorPolicy::skip);
  return keeps && is_even_each_epoch(*root.input());
}

std::optional<uint64_t> size_in_epoch(const NodePtr& root, uint64_t epoch) {
  const Shard* shard = find_shard(*root);
  if (root->size) return root->size;
  if ((shard && shard->steps) || !is_even_each_epoch(*root)) return std::nullopt;
  const NodePtr sized = sized_in(root, epoch);
  return sized ? sized->size : std::nullopt;
}

}  // namespace headrace
