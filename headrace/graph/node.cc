#include "headrace/graph/node.h"

#include <algorithm>
#include <functional>

#include "headrace/core/element_cache.h"
#include "headrace/graph/in_order.h"
#include "headrace/graph/meaning.h"
#include "headrace/graph/walk_nodes.h"
#include "headrace/ops/c_function.h"

namespace headrace {

std::string_view kind_name(const Kind& kind) {
  constexpr std::string_view names[] = {
      "read", "map",    "filter",      "unbatch",         "shuffle",  "shard",          "repeat",
      "take", "skip",   "concatenate", "batch",           "on_error", "from_generator", "take_while",
      "scan", "unique", "interleave",  "group_by_window", "pack",     "cache",          "zip",
      "mix",  "choose", "window",      "sample",          "sort_by"};
  if (const auto* batch = std::get_if<Batch>(&kind); batch && batch->padding) return "padded_batch";
  if (const auto* group = std::get_if<GroupBy>(&kind); group && group->by_length) return "bucket_by_length";
  return names[kind.index()];
}

Program* program_of(Kind& kind) {
  return std::visit(
      [](auto& verb) -> Program* {
        if constexpr (requires { verb.program; })
          return &verb.program;
        else if constexpr (requires { verb.predicate; })
          return &verb.predicate;
        else
          return nullptr;
      },
      kind);
}

const Program* program_of(const Kind& kind) { return program_of(const_cast<Kind&>(kind)); }

bool gathers(const Node& node) {
  return node.as<Batch>() || node.as<GroupBy>() || node.as<Pack>() || node.as<Window>();
}

Schema scan_schema(std::span<const Tensor> initial, const Schema& element) {
  Schema out;
  for (size_t i = 0; i < initial.size(); ++i) {
    TensorSpec spec = initial[i].view().spec();
    for (int d = 0; d < spec.shape.rank(); ++d) spec.shape.set(d, kAny);
    out.names.push_back("state/" + std::to_string(i));
    out.specs.push_back(spec);
  }
  out.names.insert(out.names.end(), element.names.begin(), element.names.end());
  out.specs.insert(out.specs.end(), element.specs.begin(), element.specs.end());
  return out;
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

// " 'mean'" for the leaf "0/mean" of a state; empty for a state of one leaf.
std::string of_leaf(std::string_view name) {
  const size_t slash = name.find('/');
  return slash == std::string_view::npos ? "" : " '" + std::string(name.substr(slash + 1)) + "'";
}

// Whether it reads a user's sequence, whose items cannot be identified without reading all of them.
bool reads_objects(const Node& node) {
  return find_node(node, [](const Node& one) {
    const auto* read = one.as<Read>();
    if (!read) return false;
    const auto format = read->source->describe().get_text("format");
    return format.ok() && *format == "sequence";
  });
}

// C functions are addresses: whether they are the same in another run cannot be checked.
Status check_versions(const Node& below) {
  Status status;
  each_call(below, [&](const Call& call) {
    const CFunction* const function = c_function_of(*call.op);
    if (function && function->version.empty() && status.ok())
      status = invalid(
          "cache: cannot tell whether the C function " + function->name +
          " is the same in another run; set a version for it or for the cache, and change it when the "
          "function changes");
  });
  return status;
}

// Derives schema, sizes and random access from kind and inputs; rejects invalid arguments.
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
  Status operator()(const Generate& generate) {
    node.schema = generate.generator->schema();
    node.indexed = false;
    return {};
  }
  Status operator()(const Map& map) {
    HEADRACE_TRY(inherit());
    node.schema = map.program.schema;
    return {};
  }
  Status operator()(const Filter& filter) {
    HEADRACE_TRY(inherit());
    HEADRACE_TRY(check_predicate(filter.predicate));
    border(std::nullopt);
    return {};
  }
  Status operator()(const TakeWhile& take) {
    HEADRACE_TRY(inherit());
    HEADRACE_TRY(check_predicate(take.program));
    border(std::nullopt);
    return {};
  }
  Status operator()(const Unique& unique) {
    HEADRACE_TRY(inherit());
    if (unique.program.outputs.empty()) return invalid("unique: the key must have at least one field");
    border(std::nullopt);
    return {};
  }
  Status operator()(const Scan& scan) {
    HEADRACE_TRY(inherit());
    const Schema& out = scan.program.schema;
    const Schema in_schema = scan_schema(scan.initial, in()->schema);
    const size_t states = scan.initial.size();
    if (out.size() <= states)
      return invalid("scan: the function must return a state of " + std::to_string(states) +
                     " values and an element of at least one, got " + out.text());
    for (size_t i = 0; i < states; ++i)
      if (scan.initial[i].is_ragged() || out.specs[i].dtype != in_schema.specs[i].dtype ||
          out.specs[i].shape.rank() != in_schema.specs[i].shape.rank())
        return invalid(
            "scan: the state" + of_leaf(out.names[i]) + " begins as " + scan.initial[i].view().spec().text() +
            ", but the function returns " + out.specs[i].text() +
            "; begin with a value of that dtype and rank, or return the state with its initial dtype and "
            "rank");
    node.schema.names.assign(out.names.begin() + static_cast<std::ptrdiff_t>(states), out.names.end());
    node.schema.specs.assign(out.specs.begin() + static_cast<std::ptrdiff_t>(states), out.specs.end());
    node.schema.structure = scan.structure;
    reordered_border();
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
                       " rows, but another field has " + std::to_string(rows));
      if (front != kAny) rows = front;
      spec.shape = spec.shape.without_front();
    }
    if (!any) return invalid("unbatch: expected a field with rows, got " + in()->schema.text());
    border(rows == kAny || !node.total ? Size() : times(*node.total, static_cast<uint64_t>(rows)));
    return {};
  }
  Status operator()(const Shuffle& shuffle) {
    HEADRACE_TRY(inherit());
    constexpr uint64_t kMost = uint64_t{1} << 62;
    if (shuffle.window > kMost || shuffle.blocks > kMost)
      return invalid("shuffle: window= and blocks= must be at most 2^62");
    if (shuffle.window > 0 && shuffle.blocks > 0)
      return invalid(
          "shuffle: expected window= or blocks=, got both: one is for streams, the other for datasets with "
          "random access");
    if (shuffle.window > 0) {
      reordered_border();
      return {};
    }
    if (!in()->indexed || !node.total)
      return invalid(
          "shuffle: a global shuffle needs random access and an exact length, which are lost after filter, "
          "unbatch, a window shuffle, on_error(\"skip\"), verbs whose elements depend on earlier ones (scan, "
          "unique, take_while, pack …) and from_generator; shuffle before that, or shuffle with window=");
    if (shuffle.blocks > 0) HEADRACE_TRY(check_in_order(*in()));
    if (*node.total == kInfinite)
      return invalid("shuffle: cannot permute an endless dataset; shuffle before repeat, or use window=");
    if (*node.total > kMost) return invalid("shuffle: cannot permute more than 2^62 elements");
    return {};
  }
  Status operator()(const Shard& shard) {
    HEADRACE_TRY(inherit());
    if (shard.world < 1 || shard.rank >= shard.world)
      return invalid("shard: expected 0 <= rank < world, got rank " + std::to_string(shard.rank) + " of " +
                     std::to_string(shard.world));
    if (in()->sharded) return invalid("shard: the dataset is already sharded");
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
  Status operator()(const Concatenate&) { return join(); }
  Status operator()(const Interleave& interleave) {
    if (interleave.cycle < 1 || interleave.block < 1)
      return invalid("interleave: cycle and block must be at least 1, got " +
                     std::to_string(interleave.cycle) + " and " + std::to_string(interleave.block));
    HEADRACE_TRY(join());
    node.indexed = node.indexed && node.total;
    return {};
  }
  Status operator()(Zip& zip) { return infer(node, zip); }
  Status operator()(Mix& mix) { return infer(node, mix); }
  Status operator()(Choose& choose) { return infer(node, choose); }
  Status operator()(Window& window) { return infer(node, window); }
  Status operator()(Draw& draw) { return infer(node, draw); }
  Status operator()(SortBy& sort) { return infer(node, sort); }
  Status operator()(const Batch& batch) {
    HEADRACE_TRY(inherit());
    if (batch.size > (uint64_t{1} << 31))
      return invalid("batch: size must be at most 2^31, got " + std::to_string(batch.size));
    if (batch.size < 1) return invalid("batch: size must be at least 1, got " + std::to_string(batch.size));
    HEADRACE_TRY(batch_rows(batch, batch.drop_last ? static_cast<int64_t>(batch.size) : kAny));
    // Each rank has its own order of batches.
    Size rows = node.shard && node.total ? Size(shard_size(*node.shard, *node.total)) : node.total;
    if (rows && *rows != kInfinite)
      rows = batch.drop_last ? *rows / batch.size : (*rows + batch.size - 1) / batch.size;
    node.total = rows;
    node.shard.reset();
    return {};
  }
  Status operator()(Cache& cache) {
    HEADRACE_TRY(inherit());
    HEADRACE_TRY(check_has_fields(node));
    if (!in()->indexed)
      return invalid(
          "cache: needs random access, which is lost after filter, unbatch, a window shuffle or "
          "on_error(\"skip\"); put cache before that, or write the elements to files with write()");
    if (!cache.path.empty() && cache.version.empty() && reads_objects(*in()))
      return invalid(
          "cache: cannot tell whether the items of a Python sequence are the same in another run; pass "
          "version=, and change it when the items change");
    if (!cache.path.empty() && cache.version.empty()) HEADRACE_TRY(check_versions(*in()));
    if (cache.path.empty() && !cache.memory) cache.memory = std::make_shared<MemoryCaches>();
    return {};
  }
  Status operator()(const GroupBy& group) {
    HEADRACE_TRY(inherit());
    const std::string verb(kind_name(node.kind));
    const auto& out = group.program.schema.specs;
    if (out.size() != 1 || is_float(out[0].dtype) || is_text(out[0].dtype) || out[0].shape.rank() != 0)
      return invalid(verb + ": " + (group.by_length ? "the length" : "the key") +
                     " must be one integer scalar (), got " + group.program.schema.text());
    const auto& boundaries = group.boundaries;
    if (std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>()) != boundaries.end())
      return invalid(verb + ": boundaries must increase");
    if ((group.token_budget > 0) == !group.sizes.empty())
      return invalid(verb + ": expected batch sizes or a token budget, and not both");
    const size_t groups = boundaries.size() + 1;
    if (!group.sizes.empty() && group.sizes.size() != 1 && group.sizes.size() != groups)
      return invalid(verb + ": expected a batch size for each of the " + std::to_string(groups) +
                     " groups, or one for all, got " + std::to_string(group.sizes.size()));
    for (const uint64_t size : group.sizes)
      if (size < 1 || size > (uint64_t{1} << 31))
        return invalid(verb + ": sizes must be from 1 to 2^31, got " + std::to_string(size));
    if (group.pad_to_boundary && (!group.batch.padding || boundaries.empty()))
      return invalid(verb + ": pad_to_boundary needs padding and boundaries");
    const bool exact = group.batch.drop_last && group.sizes.size() == 1;
    HEADRACE_TRY(batch_rows(group.batch, exact ? static_cast<int64_t>(group.sizes[0]) : kAny));
    border(std::nullopt);
    return {};
  }
  Status operator()(const Pack& pack) {
    HEADRACE_TRY(inherit());
    if (pack.fields.empty() || pack.lengths.size() != pack.fields.size() ||
        pack.fill.size() != pack.fields.size())
      return invalid("pack: expected at least one field, and a length and a fill for each");
    if (pack.bins < 1 || pack.bins > 65536)
      return invalid("pack: bins must be from 1 to 65536, got " + std::to_string(pack.bins));
    Schema out;
    std::string structure;
    const auto add = [&](const std::string& name, DType dtype, uint64_t length) {
      structure += (structure.empty() ? "{" : ",") + Value(name).dump() + ":" + std::to_string(out.size());
      out.names.push_back(name);
      out.specs.push_back({dtype, {static_cast<int64_t>(length)}});
    };
    for (size_t i = 0; i < pack.fields.size(); ++i) {
      const auto field = static_cast<size_t>(pack.fields[i]);
      if (pack.fields[i] < 0 || field >= in()->schema.size())
        return invalid("pack: no field " + std::to_string(pack.fields[i]) + " in " + in()->schema.text());
      const std::string& name = in()->schema.names[field];
      const TensorSpec& spec = in()->schema.specs[field];
      if (is_text(spec.dtype) || spec.shape.rank() != 1)
        return invalid("pack: fields must be numeric and one-dimensional, of any length, got '" + name +
                       "': " + spec.text() + "; select other fields with fields=");
      if (pack.lengths[i] < 1 || pack.lengths[i] > (uint64_t{1} << 31))
        return invalid("pack: lengths must be from 1 to 2^31, got " + std::to_string(pack.lengths[i]));
      Schema alone = Schema::of({name}, {{spec.dtype, {kAny}}});
      HEADRACE_TRY(padded_spec({{Shape{kAny}}, {pack.fill[i]}}, alone, 0, "pack").status());
      add(name, spec.dtype, pack.lengths[i]);
      add(name + "_segment_ids", DType::i32, pack.lengths[i]);
      add(name + "_positions", DType::i32, pack.lengths[i]);
    }
    out.structure = structure + "}";
    node.schema = std::move(out);
    border(std::nullopt);
    return {};
  }
  Status operator()(const OnError& on_error) {
    HEADRACE_TRY(inherit());
    if (on_error.policy == OnErrorPolicy::skip) border(std::nullopt);
    if (on_error.policy == OnErrorPolicy::replace && !in()->indexed)
      return invalid(
          "on_error: \"replace\" needs random access; put it before filter, unbatch and window shuffle");
    return {};
  }

 private:
  // No random access from here on; a shard before it has assigned the inputs to ranks.
  void border(Size total) {
    if (node.shard && total) total = std::nullopt;
    node.total = total;
    node.shard.reset();
    node.indexed = false;
  }
  // A border with as many elements after it as before it.
  void reordered_border() {
    const Size size = node.shard && node.total ? Size(shard_size(*node.shard, *node.total)) : node.total;
    node.shard.reset();
    border(size);
  }
  Status check_predicate(const Program& predicate) const {
    const auto& out = predicate.schema.specs;
    if (out.size() == 1 && out[0].dtype == DType::boolean && out[0].shape.rank() == 0) return {};
    return invalid(std::string(kind_name(node.kind)) +
                   ": the predicate must return one bool scalar (), got " + predicate.schema.text());
  }
  // Elements become rows.
  Status batch_rows(const Batch& batch, int64_t rows) {
    const std::string verb(kind_name(node.kind));
    HEADRACE_TRY(check_has_fields(node));
    if (batch.padding && batch.padding->shapes.size() != node.schema.size())
      return invalid(verb + ": expected a shape for each of " + node.schema.text());
    for (size_t f = 0; f < node.schema.size(); ++f) {
      TensorSpec& spec = node.schema.specs[f];
      if (spec.shape.rank() == kMaxRank) return invalid(verb + ": rank would exceed 8");
      if (batch.padding) {
        HEADRACE_ASSIGN(spec, padded_spec(*batch.padding, in()->schema, f, verb));
      }
      spec.shape = spec.shape.with_front(rows);
    }
    return {};
  }
  // Several datasets with the same fields.
  Status join() {
    HEADRACE_TRY(unite(node, node.inputs.size()));
    Size total = 0;
    for (const NodePtr& input : node.inputs)
      total = total && input->total ? Size(add_sizes(*total, *input->total)) : Size();
    node.total = total;
    return {};
  }
};

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
  HEADRACE_TRY(std::visit(Infer{*node}, node->kind));
  node->size = node->shard && node->total ? Size(shard_size(*node->shard, *node->total)) : node->total;
  return node;
}

}  // namespace

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

bool moves_indices(const Node& node) {
  const auto* shuffle = node.as<Shuffle>();
  return node.indexed && ((shuffle && shuffle->window == 0) || node.as<Shard>() || node.as<Repeat>() ||
                          node.as<Take>() || node.as<Skip>() || node.as<Draw>() || node.as<SortBy>());
}

NodePtr with_inputs(const Node& node, std::vector<NodePtr> inputs) {
  auto made = inferred(node.kind, std::move(inputs), node.made_at);
  return made.ok() ? NodePtr(*std::move(made)) : nullptr;
}

}  // namespace headrace
