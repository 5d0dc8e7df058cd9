#include "headrace/run/explained.h"

#include <algorithm>

#include "headrace/core/byte_size.h"
#include "headrace/graph/explain/explain.h"
#include "headrace/graph/explain/notes.h"
#include "headrace/graph/explain/order_hints.h"
#include "headrace/run/loader.h"
#include "headrace/run/read/fetch.h"
#include "headrace/run/report/memory_estimate.h"

namespace headrace {
namespace {

constexpr uint64_t kLooks = 16, kBatchLooks = 2;

// Measuring fills no cache.
NodePtr without_caches(const NodePtr& node) {
  if (node->as<Cache>()) return without_caches(node->input());
  std::vector<NodePtr> inputs;
  for (const NodePtr& input : node->inputs) {
    inputs.push_back(without_caches(input));
    if (!inputs.back()) return nullptr;
  }
  return inputs == node->inputs ? node : with_inputs(*node, std::move(inputs));
}

struct Look {
  ElementSize size;
  double scratch = 0;  // scratch bytes of the worker that made them
};

// Makes some elements of epoch 0 with one worker; with random access, from all over the data.
std::optional<Look> look_at(const NodePtr& node, uint64_t seed, const std::shared_ptr<Store>& store) {
  NodePtr plan = without_caches(node);
  if (!plan) return std::nullopt;
  if (plan->indexed && plan->size && *plan->size > kLooks && *plan->size != kInfinite)
    if (const auto spread = make_node(Shuffle{.seed = 1}, {plan}); spread.ok()) plan = *spread;
  LoaderOptions options;
  options.seed = seed, options.workers = options.io = options.ready = 1, options.checkpoints = false;
  const auto loader = Loader::make(plan, options, store);
  if (!loader.ok()) return std::nullopt;
  Look out;
  const uint64_t looks = is_batched(*node) ? kBatchLooks : kLooks;
  for (Sample sample; out.size.looked_at < looks; ++out.size.looked_at) {
    const auto more = (*loader)->next(sample);
    if (!more.ok() || !*more) break;
    for (const Tensor& field : sample.fields) out.size.bytes += static_cast<double>(field.size_bytes());
  }
  (*loader)->stop();
  if (out.size.looked_at == 0) return std::nullopt;
  out.size.bytes /= static_cast<double>(out.size.looked_at);
  const Value report = (*loader)->report();
  const Value* memory = report.find("memory");
  if (const Value* scratch = memory ? memory->find("peak_scratch") : nullptr; scratch && scratch->integer())
    out.scratch = static_cast<double>(*scratch->integer());
  return out;
}

// The plan below the last batch: a worker's work for one sample.
NodePtr sample_of(const NodePtr& root) {
  for (NodePtr node = root; !node->inputs.empty(); node = node->input())
    if (node->as<Batch>()) return node->input();
  return root;
}

// An element has the size of a known one with the same fields: rewrites move and join verbs without changing
// the elements.
std::optional<ElementSize> as_known(const Node& node, const NodePtr& written, const ElementSizes& sizes) {
  if (const auto found = sizes.find(written.get()); found != sizes.end() && node.schema == written->schema)
    return found->second;
  for (const NodePtr& input : written->inputs)
    if (const auto found = as_known(node, input, sizes)) return found;
  return std::nullopt;
}

std::string tree(const NodePtr& plan, const ElementSizes& sizes) {
  std::string out;
  for (const std::string& node : explain_nodes(plan, &sizes)) out += node;
  return out;
}

// The steps from the plan as written to the plan that runs.
std::string steps(const Explained& run) {
  const std::vector<Applied>& applied = run.pipeline.applied;
  std::string out;
  const NodePtr& ready = applied.empty() ? run.pipeline.plan : applied[0].before;
  if (const std::string change = explain_change(run.written, ready); !change.empty())
    out +=
        "\nbefore the rewrites:\n" +
        wrapped(
            "shards move to the end of their order, filters move before work they do not depend on, unused "
            "fields are dropped, and decoding and resampling an image become one step",
            "    ") +
        change;
  for (const Applied& one : applied) {
    const auto rewrite = std::ranges::find(rewrites(), one.name, &Rewrite::name);
    out += "\nafter " + one.name + " (" + std::to_string(one.times) + "x):\n";
    if (rewrite != rewrites().end()) out += wrapped(std::string(rewrite->why), "    ");
    out += explain_change(one.before, one.after);
  }
  return out;
}

}  // namespace

std::string explain_run(const Explained& run) {
  MeasureElements measure;
  std::optional<double> scratch;
  if (run.store) {
    measure = [&](const NodePtr& node) -> std::optional<ElementSize> {
      const auto look = look_at(node, run.options.seed, run.store);
      return look ? std::optional(look->size) : std::nullopt;
    };
    if (const auto look = look_at(sample_of(run.written), run.options.seed, run.store))
      scratch = look->scratch;
  }
  const ElementSizes written = element_sizes(run.written, measure);
  const ElementSizes running = element_sizes(
      run.pipeline.plan, [&](const NodePtr& node) { return as_known(*node, run.written, written); });
  std::string out = "as written:\n" + tree(run.written, written);
  if (const std::string changes = steps(run); !changes.empty())
    out += changes + "\nas it runs:\n" + tree(run.pipeline.plan, running);
  out += std::string("\nwrite_into_slot: ") + (run.options.write_into_slot ? "on" : "off") +
         " (the last operator writes directly into its row of the batch)\n";
  for (const std::string& part : run.pipeline.parts) out += part + "\n";
  out += run.caching;
  if (run.options.workers == 0)
    out += "workers 0: the caller's thread does all the work, ";
  else
    for (const Knob knob : kKnobs)
      out += std::string(knob_name(knob)) + " " + std::to_string(run.settings.of(knob)) +
             (run.limits.may_turn(knob) ? " (tuned), " : ", ");
  out += "memory budget " + byte_size_text(static_cast<double>(run.options.memory_budget)) + "\n";
  const size_t budget = run.options.memory_budget;
  out += memory_text(memory_estimate(*run.pipeline.plan, running, run.stages, run.settings, scratch, budget),
                     budget);
  for (const std::string& note :
       notes(run.written, {static_cast<double>(Fetcher::most_kept(budget, true)), written}))
    out += "note: " + note + "\n";
  for (const std::string& hint : order_hints(run.written)) out += "note: " + hint + "\n";
  return out;
}

}  // namespace headrace
