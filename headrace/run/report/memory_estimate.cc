#include "headrace/run/report/memory_estimate.h"

#include <algorithm>
#include <cstdio>

#include "headrace/core/byte_size.h"
#include "headrace/core/cache/element_cache.h"
#include "headrace/graph/moving_parts.h"
#include "headrace/graph/walk_nodes.h"
#include "headrace/run/engine/stage.h"
#include "headrace/run/measure/machine.h"
#include "headrace/run/read/fetch.h"
#include "headrace/run/row_paths/level_body.h"

namespace headrace {
namespace {

class Estimate {
 public:
  Estimate(const ElementSizes& sizes, double most_of_blocks)
      : sizes_(sizes), most_of_blocks_(most_of_blocks) {}

  // `count` elements of a node.
  void add(std::string what, const Node& node, double count, bool in_budget = true, std::string more = "") {
    const auto found = sizes_.find(&node);
    Held held{std::move(what), std::nullopt, "", in_budget};
    char number[32];
    std::snprintf(number, sizeof number, "%.0f", count);
    if (found == sizes_.end()) {
      held.how = std::string(number) + " of unknown size";
    } else {
      held.bytes = count * found->second.bytes;
      held.how = std::string(number) + " of " + byte_size_text(found->second.bytes);
    }
    held.how += more;
    out.push_back(std::move(held));
  }

  // Elements and blocks that verbs hold themselves.
  void add_kept(const Node& node) {
    const Node* below = node.inputs.empty() ? nullptr : node.input().get();
    const auto most = [&](uint64_t count) {
      return static_cast<double>(below && below->size ? std::min(*below->size, count) : count);
    };
    const auto* shuffle = node.as<Shuffle>();
    if (shuffle && shuffle->window > 0) add("shuffle window", *below, most(shuffle->window));
    if (facts_of(node).jumps && node.indexed) add_blocks(*below);
    if (const auto* group = node.as<GroupBy>(); group && group->by_length && !group->sizes.empty()) {
      const size_t groups = group->boundaries.size() + 1;
      uint64_t rows = 0;
      for (size_t i = 0; i < groups; ++i) rows += group->sizes[std::min(i, group->sizes.size() - 1)];
      add("groups of " + std::string(kind_name(node.kind)), *below, most(rows));
    }
    if (const auto* cache = node.as<Cache>()) add_cache(*cache, node);
  }

  std::vector<Held> out;

 private:
  // Blocks of all reads below an order that jumps between them.
  void add_blocks(const Node& below) {
    each_node(below, [&](const Node& node) {
      const auto* read = node.as<Read>();
      if (!read || !Fetcher::shares_blocks(*read->source) || lie_alone(*read->source)) return;
      add("cached blocks of samples", node, static_cast<double>(read->source->size()), true,
          ", at most half of the budget");
      if (auto& bytes = out.back().bytes) bytes = std::min(*bytes, most_of_blocks_);
    });
  }

  void add_cache(const Cache& cache, const Node& node) {
    const std::optional<uint64_t> count =
        cache.moving ? node.total : node.size;  // `moving`: those of all ranks
    const double elements = count && *count != kInfinite ? static_cast<double>(*count) : 0;
    if (!cache.path.empty()) return add("cache on disk", node, elements, false);
    if (cache.memory && cache.memory->given())  // by the run, from its budget
      return out.push_back({"cache, added automatically", static_cast<double>(cache.max_memory), "", true});
    const size_t most = cache.max_memory > 0 ? cache.max_memory : usable_memory_bytes() / 2;
    add("cache, outside the budget", node, elements, false,
        ", at most " + byte_size_text(static_cast<double>(most)) +
            (cache.moving ? ": " + std::string(kPartsMove) : ""));
  }

  const ElementSizes& sizes_;
  const double most_of_blocks_;  // bytes
};

// The nodes that levels were made from: the topmost ones with random access, in the order of their stages.
void find_levels(const Node& node, std::vector<const Node*>& out) {
  if (node.indexed) return out.push_back(&node);
  for (const NodePtr& input : node.inputs) find_levels(*input, out);
}

// Samples that are read for one element of a level.
double samples_of(const Node& node) {
  double rows = 1;
  for (const Node* at = &node; !at->inputs.empty(); at = at->input().get())
    if (const auto* batch = at->as<Batch>()) rows *= static_cast<double>(batch->size);
  return rows;
}

void add_level(const Node& level, const LevelBody& body, bool is_last, const Settings& settings,
               Estimate& estimate) {
  const auto tickets = static_cast<double>(settings.ready * std::max(body.block(), body.most_rows_of_item()));
  estimate.add(is_last ? "elements in progress and ready" : "elements before regrouping", level, tickets);
  each_node(level, [&](const Node& node) {
    const auto* read = node.as<Read>();
    if (!read || read->source->resident()) return;
    estimate.add("bytes read ahead", node, tickets * samples_of(level), true, ", at most half of the budget");
  });
}

}  // namespace

std::vector<Held> memory_estimate(const Node& plan, const ElementSizes& sizes,
                                  const std::vector<Stage*>& stages, const Settings& settings,
                                  std::optional<double> scratch, size_t budget) {
  Estimate estimate(sizes, static_cast<double>(Fetcher::most_kept(budget, true)));
  std::vector<const Node*> levels;
  find_levels(plan, levels);
  size_t number = 0;
  for (Stage* stage : stages) {
    const bool is_last = stage == stages.back();
    const auto* body = dynamic_cast<const LevelBody*>(&stage->body());
    if (body && number < levels.size())
      add_level(*levels[number++], *body, is_last && plan.indexed, settings, estimate);
    if (is_last && !plan.indexed)
      estimate.add("elements in progress and ready", plan, static_cast<double>(settings.ready));
  }
  each_node(plan, [&](const Node& node) { estimate.add_kept(node); });
  const std::string workers = std::to_string(settings.workers);
  estimate.out.push_back(
      {"scratch memory of workers",
       scratch ? std::optional(*scratch * static_cast<double>(settings.workers)) : std::nullopt,
       workers + " of " + (scratch ? byte_size_text(*scratch) : "unknown size")});
  return std::move(estimate.out);
}

std::string memory_text(const std::vector<Held>& held, size_t budget) {
  double sum = 0;
  bool knows_all = true;
  std::string lines;
  for (const Held& one : held) {
    if (one.in_budget) sum += one.bytes.value_or(0), knows_all = knows_all && one.bytes;
    char line[160];
    std::snprintf(line, sizeof line, "    %-36s %10s   ", one.what.c_str(),
                  one.bytes ? byte_size_text(*one.bytes).c_str() : "?");
    lines += line + one.how + "\n";
  }
  const auto limit = static_cast<double>(budget);
  std::string out = "memory, estimated: " + std::string(knows_all ? "" : "at least ") + byte_size_text(sum) +
                    " of a budget of " + byte_size_text(limit) + "\n" + lines;
  if (sum > limit)
    out +=
        "    this does not fit: fewer elements will be in progress, and the run fails if what it needs at "
        "once does not fit\n";
  return out;
}

}  // namespace headrace
