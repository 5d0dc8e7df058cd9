#include "headrace/graph/verbs/inference.h"

#include <numeric>

#include "headrace/graph/walk_nodes.h"

namespace headrace {
namespace {

std::string verb(const Node& node) { return std::string(kind_name(node.kind)); }

Status widen(const Node& node, const std::string& name, TensorSpec& mine, const TensorSpec& other) {
  if (mine.dtype != other.dtype || mine.shape.rank() != other.shape.rank())
    return invalid(verb(node) + ": field '" + name + "' is " + mine.text() + " in one dataset, " +
                   other.text() + " in another");
  for (int d = 0; d < mine.shape.rank(); ++d)
    if (mine.shape[d] != other.shape[d]) mine.shape.set(d, kAny);
  return {};
}

}  // namespace

bool reorders_each_epoch(const Node& node) { return facts_of(node).reorders; }
bool order_varies(const Node& node) { return find_node(node, reorders_each_epoch); }

uint64_t add_sizes(uint64_t a, uint64_t b) {
  return a == kInfinite || b == kInfinite || a + b < a ? kInfinite : a + b;
}
uint64_t multiply_sizes(uint64_t a, uint64_t b) {
  return a == 0 || b == 0 ? 0 : a == kInfinite || b == kInfinite || a > kInfinite / b ? kInfinite : a * b;
}

void inherit(Node& node) {
  const Node& in = *node.input();
  node.schema = in.schema;
  node.total = in.total;
  node.shard = in.shard;
  node.sharded = in.sharded;
  node.indexed = in.indexed;
}

Size rows_of_rank(const Node& node) {
  return node.shard && node.total ? Size(shard_size(*node.shard, *node.total)) : node.total;
}

void end_random_access(Node& node, Size total) {
  node.total = node.shard ? std::nullopt : total;
  node.shard.reset();
  node.indexed = false;
}

void end_random_access(Node& node) {
  const Size size = rows_of_rank(node);
  node.shard.reset();
  end_random_access(node, size);
}

Status check_has_fields(const Node& node) {
  if (node.input()->schema.size() > 0) return {};
  return invalid({.expected = "elements with at least one field", .got = "none"}).in_op(verb(node));
}

Status infer_chosen(Node& node, const Program& predicate) {
  inherit(node);
  const auto& out = predicate.schema.specs;
  if (out.size() != 1 || out[0].dtype != DType::boolean || out[0].shape.rank() != 0)
    return invalid(verb(node) + ": the predicate must return one bool scalar (), got " +
                   predicate.schema.text());
  end_random_access(node, std::nullopt);
  return {};
}

Status batch_rows(Node& node, const Batch& batch, int64_t rows) {
  HEADRACE_TRY(check_has_fields(node));
  if (batch.padding && batch.padding->shapes.size() != node.schema.size())
    return invalid(verb(node) + ": expected a shape for each of " + node.schema.text());
  for (size_t f = 0; f < node.schema.size(); ++f) {
    TensorSpec& spec = node.schema.specs[f];
    if (spec.shape.rank() == kMaxRank) return invalid(verb(node) + ": rank would exceed 8");
    if (batch.padding) {
      HEADRACE_ASSIGN(spec, padded_spec(*batch.padding, node.input()->schema, f, verb(node)));
    }
    spec.shape = spec.shape.with_front(rows);
  }
  return {};
}

Status refuse_shard(const Node& node, const Node& input) {
  if (!input.sharded) return {};
  return invalid(verb(node) + ": shard is inside one branch; put it after " + verb(node));
}

Status unite(Node& node, size_t count) {
  if (count == 0) return invalid(verb(node) + ": expected at least one dataset");
  const Node& first = *node.inputs[0];
  node.schema = first.schema;
  for (size_t k = 0; k < count; ++k) {
    const Node& input = *node.inputs[k];
    HEADRACE_TRY(refuse_shard(node, input));
    if (input.schema.names != node.schema.names || input.schema.structure != node.schema.structure)
      return invalid({.expected = "datasets with the same fields",
                      .got = node.schema.text() + " and " + input.schema.text()})
          .in_op(verb(node));
    for (size_t i = 0; i < node.schema.size(); ++i)
      HEADRACE_TRY(widen(node, node.schema.names[i], node.schema.specs[i], input.schema.specs[i]));
    node.indexed = node.indexed && input.indexed;
  }
  return {};
}

std::optional<std::vector<uint64_t>> totals_of(const Node& node, size_t count) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < count; ++i) {
    if (!node.inputs[i]->total) return std::nullopt;
    out.push_back(*node.inputs[i]->total);
  }
  return out;
}

Size sum_of_totals(const Node& node) {
  Size total = 0;
  for (const NodePtr& input : node.inputs)
    total = total && input->total ? Size(add_sizes(*total, *input->total)) : Size();
  return total;
}

Status check_numbers(const Node& node, size_t least) {
  if (node.inputs.size() >= least) return {};
  return invalid({.expected = "at least " + std::to_string(least) + " inputs, the last one of numbers",
                  .got = std::to_string(node.inputs.size())})
      .in_op(verb(node));
}

Result<uint64_t> fixed_total(const Node& data, const std::string& verb, const std::string& what) {
  if (!data.indexed || !data.total || *data.total == kInfinite)
    return invalid(
        verb +
        ": needs random access and an exact length, which are lost after filter, unbatch, a window "
        "shuffle, on_error(\"skip\") or an endless repeat");
  if (order_varies(data))
    return invalid(
        verb + ": " + what + " belong to elements by position, which a shuffle, sample or reorder before " +
        verb + " changes every epoch; put " + verb + " first, or use shuffle(reshuffle_each_epoch=False)");
  return *data.total;
}

Status check_fixed_order(const Node& node, const std::string& what, uint64_t count) {
  HEADRACE_ASSIGN(const uint64_t total, fixed_total(*node.input(), verb(node), what));
  if (count != total)
    return invalid({.expected = what + " for " + std::to_string(total) + " elements",
                    .got = std::to_string(count)})
        .in_op(verb(node));
  return {};
}

template <class T> Result<std::vector<T>> numbers_of(const Node& node, std::string_view what) {
  constexpr DType dtype = std::is_same_v<T, double> ? DType::f64 : DType::i64;
  const Node& input = *node.inputs.back();
  const auto* read = input.as<Read>();
  const bool fits = read && read->source->resident() && input.schema.size() == 1 &&
                    input.schema.specs[0] == TensorSpec{dtype, {}};
  if (!fits)
    return invalid({.expected = std::string(what) + " in memory, each one " + TensorSpec{dtype, {}}.text(),
                    .got = "{" + input.schema.text() + "}"})
        .in_op(verb(node));
  HEADRACE_ASSIGN(Step<BlockPtr> step, read->source->open(0)->advance({}));
  const uint64_t size = read->source->size();
  std::vector<T> out(size);
  std::vector<uint64_t> rows(size);
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  const Block& block = *std::get<BlockPtr>(step);
  if (!block.gather(rows, 0, reinterpret_cast<std::byte*>(out.data())))
    return internal_error(verb(node) + ": a source in memory without gather()");
  return out;
}
template Result<std::vector<int64_t>> numbers_of(const Node&, std::string_view);
template Result<std::vector<double>> numbers_of(const Node&, std::string_view);

const SourcePtr& source_of_numbers(const Node& node) { return node.inputs.back()->as<Read>()->source; }

bool are_numbers_of(const SourcePtr& source, const Node& node) {
  const auto* read = node.inputs.back()->as<Read>();
  return source && read && read->source == source;
}

}  // namespace headrace
