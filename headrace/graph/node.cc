#include "headrace/graph/node.h"

#include <algorithm>

namespace headrace {

std::string_view kind_name(const Kind& kind) {
  constexpr std::string_view names[] = {"read",   "map",  "filter", "unbatch",     "shuffle", "shard",
                                        "repeat", "take", "skip",   "concatenate", "batch",   "on_error",
                                        "cache"};
  return names[kind.index()];
}

uint64_t shard_size(const Shard& shard, uint64_t total, uint64_t base) {
  if (total == kInfinite) return kInfinite;
  const uint64_t rest = total - std::min(total, base);
  return shard.even == Even::drop ? rest / shard.world : (rest + shard.world - 1) / shard.world;
}

namespace {

using Size = std::optional<uint64_t>;

uint64_t add_sizes(uint64_t a, uint64_t b) {
  return a == kInfinite || b == kInfinite || a + b < a ? kInfinite : a + b;
}
uint64_t times(uint64_t a, uint64_t b) {
  return a == 0 || b == 0 ? 0 : a == kInfinite || b == kInfinite || a > kInfinite / b ? kInfinite : a * b;
}

// Fills in what follows from kind and inputs: schema, sizes, random access; refuses what makes no sense.
struct Infer {
  Node& node;
  const Node* in() const { return node.inputs.empty() ? nullptr : node.inputs[0].get(); }

  Status inherit() {
    node.schema = in()->schema;
    node.total = in()->total;
    node.shard = in()->shard;
    node.sharded = in()->sharded;
    node.indexed = in()->indexed;
    return {};
  }

  Status operator()(const Read& read) {
    node.schema = read.source->schema();
    node.total = read.source->size();
    return {};
  }
  Status operator()(const Map& map) {
    HEADRACE_TRY(inherit());
    node.schema = map.program.schema;
    return {};
  }
  Status operator()(const Filter& filter) {
    HEADRACE_TRY(inherit());
    const auto& out = filter.predicate.schema.specs;
    if (out.size() != 1 || out[0].dtype != DType::boolean || out[0].shape.rank() != 0)
      return invalid("filter: the predicate wants one bool (), got " + filter.predicate.schema.text());
    border(std::nullopt);
    return {};
  }
  Status operator()(const Unbatch&) {
    HEADRACE_TRY(inherit());
    int64_t rows = kAny;
    bool any = false;
    for (size_t i = 0; i < node.schema.size(); ++i) {
      TensorSpec& spec = node.schema.specs[i];
      if (is_text(spec.dtype) ? spec.shape.rank() < 2 : spec.shape.rank() == 0) continue;
      any = true;
      const int64_t front = spec.shape[0];
      if (rows != kAny && front != kAny && rows != front)
        return invalid("unbatch: field '" + node.schema.names[i] + "' has " + std::to_string(front) +
                       " rows, another field " + std::to_string(rows));
      if (front != kAny) rows = front;
      spec.shape = spec.shape.without_front();
    }
    if (!any) return invalid("unbatch: wants a field with rows, got " + in()->schema.text());
    border(rows == kAny || !node.total ? Size() : times(*node.total, static_cast<uint64_t>(rows)));
    return {};
  }
  Status operator()(const Shuffle& shuffle) {
    HEADRACE_TRY(inherit());
    if (shuffle.window > 0) {  // as many elements as before it, in another order
      const Size size = node.shard && node.total ? Size(shard_size(*node.shard, *node.total)) : node.total;
      node.shard.reset();
      border(size);
      return {};
    }
    if (!in()->indexed || !node.total)
      return invalid(
          "shuffle: a global shuffle wants random access and an exact length, which a filter, unbatch, "
          "window shuffle or on_error(\"skip\") before it takes away; shuffle before it, or shuffle with "
          "window=");
    if (*node.total == kInfinite)
      return invalid("shuffle: cannot permute an endless dataset; shuffle before repeat, or use window=");
    if (*node.total > (uint64_t{1} << 62)) return invalid("shuffle: wants at most 2^62 elements");
    return {};
  }
  Status operator()(const Shard& shard) {
    HEADRACE_TRY(inherit());
    if (shard.world < 1 || shard.rank >= shard.world)
      return invalid("shard: wants 0 <= rank < world, got rank " + std::to_string(shard.rank) + " of " +
                     std::to_string(shard.world));
    if (in()->sharded) return invalid("shard: the dataset is sharded already");
    node.shard = shard;
    node.sharded = true;
    return {};
  }
  Status operator()(const Repeat& repeat) {
    HEADRACE_TRY(inherit());
    const uint64_t n = repeat.times == 0 ? kInfinite : repeat.times;
    if (node.total) node.total = times(*node.total, n);
    return {};
  }
  Status operator()(const Take& take) {
    HEADRACE_TRY(inherit());
    if (take.count == 0) node.total = 0;
    if (node.total) node.total = std::min(*node.total, take.count);
    return {};
  }
  Status operator()(const Skip& skip) {
    HEADRACE_TRY(inherit());
    if (node.total && *node.total != kInfinite) node.total = *node.total - std::min(*node.total, skip.count);
    return {};
  }
  Status operator()(const Concatenate&) {
    if (node.inputs.empty()) return invalid("concatenate: wants at least one dataset");
    node.schema = in()->schema;
    Size total = 0;
    for (const NodePtr& input : node.inputs) {
      if (input->sharded) return invalid("concatenate: shard stands in one branch; put it after concatenate");
      if (input->schema.names != node.schema.names || input->schema.structure != node.schema.structure)
        return invalid("concatenate: wants datasets of the same fields, got " + node.schema.text() + " and " +
                       input->schema.text());
      for (size_t i = 0; i < node.schema.size(); ++i) HEADRACE_TRY(widen(i, input->schema.specs[i]));
      node.indexed = node.indexed && input->indexed;
      total = total && input->total ? Size(add_sizes(*total, *input->total)) : Size();
    }
    node.total = total;
    return {};
  }
  Status operator()(const Batch& batch) {
    HEADRACE_TRY(inherit());
    if (batch.size > (uint64_t{1} << 31))
      return invalid("batch: wants a size of at most 2^31, got " + std::to_string(batch.size));
    if (batch.size < 1)
      return invalid("batch: wants a size of at least 1, got " + std::to_string(batch.size));
    for (TensorSpec& spec : node.schema.specs) {
      if (spec.shape.rank() == kMaxRank) return invalid("batch: rank would exceed 8");
      spec.shape = spec.shape.with_front(batch.drop_last ? static_cast<int64_t>(batch.size) : kAny);
    }
    // The order above batches is this rank's own.
    Size rows = node.shard && node.total ? Size(shard_size(*node.shard, *node.total)) : node.total;
    if (rows && *rows != kInfinite)
      rows = batch.drop_last ? *rows / batch.size : (*rows + batch.size - 1) / batch.size;
    node.total = rows;
    node.shard.reset();
    return {};
  }
  Status operator()(Cache& cache) {
    HEADRACE_TRY(inherit());
    if (!in()->indexed)
      return invalid(
          "cache: wants random access, which a filter, unbatch, window shuffle or on_error(\"skip\") before it takes "
          "away; put it before them, or write the elements to files with write()");
    if (cache.path.empty() && !cache.memory) cache.memory = std::make_shared<MemoryCaches>();
    return {};
  }
  Status operator()(const OnError& on_error) {
    HEADRACE_TRY(inherit());
    if (on_error.policy == OnErrorPolicy::skip) border(std::nullopt);
    if (on_error.policy == OnErrorPolicy::replace && !in()->indexed)
      return invalid(
          "on_error: \"replace\" wants random access; put it before filter, unbatch and window shuffle");
    return {};
  }

 private:
  // What follows has no random access; a shard before it has dealt the inputs.
  void border(Size total) {
    if (node.shard && total) total = std::nullopt;
    node.total = total;
    node.shard.reset();
    node.indexed = false;
  }
  Status widen(size_t i, const TensorSpec& other) {
    TensorSpec& mine = node.schema.specs[i];
    if (mine.dtype != other.dtype || mine.shape.rank() != other.shape.rank())
      return invalid("concatenate: field '" + node.schema.names[i] + "' is " + mine.text() +
                     " in one dataset, " + other.text() + " in another");
    for (int d = 0; d < mine.shape.rank(); ++d)
      if (mine.shape[d] != other.shape[d]) mine.shape.set(d, kAny);
    return {};
  }
};

NodePtr number_from(const NodePtr& root, uint32_t& reads, uint32_t& ops) {
  auto copy = std::make_shared<Node>(*root);
  for (NodePtr& input : copy->inputs) input = number_from(input, reads, ops);
  if (auto* read = std::get_if<Read>(&copy->kind)) read->ordinal = reads++;
  if (auto* map = std::get_if<Map>(&copy->kind))
    for (Call& step : map->program.steps) step.ordinal = ops++;
  if (auto* filter = std::get_if<Filter>(&copy->kind))
    for (Call& step : filter->predicate.steps) step.ordinal = ops++;
  return copy;
}

}  // namespace

Result<NodePtr> make_node(Kind kind, std::vector<NodePtr> inputs, std::string made_at) {
  auto node = std::make_shared<Node>();
  node->kind = std::move(kind);
  node->inputs = std::move(inputs);
  node->made_at = std::move(made_at);
  HEADRACE_TRY(std::visit(Infer{*node}, node->kind));
  node->size = node->shard && node->total ? Size(shard_size(*node->shard, *node->total)) : node->total;
  return NodePtr(std::move(node));
}

Result<Program> add_engine_field(const NodePtr& node, int field, std::string_view name) {
  if (node->schema.find(name) >= 0)
    return invalid("the sample has a field '" + std::string(name) + "' already; give another name");
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

bool moves_indices(const Node& node) {
  const auto* shuffle = node.as<Shuffle>();
  return node.indexed && ((shuffle && shuffle->window == 0) || node.as<Shard>() || node.as<Repeat>() ||
                          node.as<Take>() || node.as<Skip>());
}

NodePtr with_inputs(const Node& node, std::vector<NodePtr> inputs) {
  auto made = make_node(node.kind, std::move(inputs), node.made_at);
  return made.ok() ? *made : nullptr;
}

}  // namespace headrace
