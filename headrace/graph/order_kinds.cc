#include "headrace/graph/order_kinds.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "headrace/graph/node.h"
#include "headrace/graph/walk_nodes.h"

namespace headrace {
namespace {

using Size = std::optional<uint64_t>;

std::string verb(const Node& node) { return std::string(kind_name(node.kind)); }

Status widen(const Node& node, const std::string& name, TensorSpec& mine, const TensorSpec& other) {
  if (mine.dtype != other.dtype || mine.shape.rank() != other.shape.rank())
    return invalid(verb(node) + ": field '" + name + "' is " + mine.text() + " in one dataset, " +
                   other.text() + " in another");
  for (int d = 0; d < mine.shape.rank(); ++d)
    if (mine.shape[d] != other.shape[d]) mine.shape.set(d, kAny);
  return {};
}

Status refuse_shard(const Node& node, const Node& input) {
  if (!input.sharded) return {};
  return invalid(verb(node) + ": shard is inside one branch; put it after " + verb(node));
}

// The numbers of the side input, as T.
template <class T> Result<std::vector<T>> numbers(const Node& node, DType dtype, std::string_view what) {
  const Node& input = *node.inputs.back();
  const auto* read = input.as<Read>();
  const bool fits = read && read->source->resident() && input.schema.size() == 1 &&
                    input.schema.specs[0] == TensorSpec{dtype, {}};
  if (!fits)
    return invalid(verb(node) + ": expected " + std::string(what) + " in memory, each one " +
                   TensorSpec{dtype, {}}.text() + ", got {" + input.schema.text() + "}");
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

Status check_numbers(const Node& node, size_t least) {
  if (node.inputs.size() >= least) return {};
  return invalid(verb(node) + ": expected at least " + std::to_string(least) +
                 " inputs, the last one of numbers, got " + std::to_string(node.inputs.size()));
}

const Source* source_of_numbers(const Node& node) {
  const auto* read = node.inputs.back()->as<Read>();
  return read ? read->source.get() : nullptr;
}

// Sizes of the inputs before the numbers, if all are known.
std::optional<std::vector<uint64_t>> sizes_of(const Node& node, size_t count) {
  std::vector<uint64_t> out;
  for (size_t i = 0; i < count; ++i) {
    if (!node.inputs[i]->total) return std::nullopt;
    out.push_back(*node.inputs[i]->total);
  }
  return out;
}

Status check_weights_count(const Mix& mix, size_t inputs) {
  for (const MixWeights& step : mix.schedule)
    if (step.weights.size() != inputs)
      return invalid("mix: expected a weight for each of the " + std::to_string(inputs) + " datasets, got " +
                     std::to_string(step.weights.size()));
  return {};
}

bool order_varies(const Node& node) {
  return find_node(node, [](const Node& one) { return one.as<Shuffle>() || one.as<Draw>(); });
}

// For numbers that belong to elements by position: one per element, in an order that does not change.
Status check_fixed_order(const Node& node, const std::string& what, uint64_t count) {
  const Node& data = *node.input();
  if (!data.indexed || !data.total || *data.total == kInfinite)
    return invalid(
        verb(node) +
        ": needs random access and an exact length, which are lost after filter, unbatch, a window "
        "shuffle, on_error(\"skip\") or an endless repeat");
  if (order_varies(data))
    return invalid(verb(node) + ": " + what +
                   " belong to elements by position, which a shuffle or sample before " + verb(node) +
                   " changes every epoch; put " + verb(node) + " first");
  if (count != *data.total)
    return invalid(verb(node) + ": expected " + what + " for " + std::to_string(*data.total) +
                   " elements, got " + std::to_string(count));
  return {};
}

Status inherit(Node& node) {
  const Node& in = *node.inputs[0];
  node.schema = in.schema;
  node.total = in.total;
  node.shard = in.shard;
  node.sharded = in.sharded;
  node.indexed = in.indexed;
  return {};
}

// The nested structure of the inputs, each replaced by the structure of its fields with ordinals counted on.
Result<Value> nested(const Value& nest, const std::string& path, const Node& node, Schema& out,
                     int64_t& seen) {
  const auto below = [&](const std::string& name) { return path.empty() ? name : path + "/" + name; };
  if (const auto* object = nest.object()) {
    Value::Object made;
    for (const auto& [name, value] : *object) {
      HEADRACE_ASSIGN(Value inner, nested(value, below(name), node, out, seen));
      made.emplace_back(name, std::move(inner));
    }
    return Value(std::move(made));
  }
  if (const auto* list = nest.list()) {
    Value::List made;
    for (size_t i = 0; i < list->size(); ++i) {
      HEADRACE_ASSIGN(Value inner, nested((*list)[i], below(std::to_string(i)), node, out, seen));
      made.push_back(std::move(inner));
    }
    return Value(std::move(made));
  }
  const int64_t input = nest.integer() ? *nest.integer() : -1;
  if (input != seen || input >= static_cast<int64_t>(node.inputs.size()))
    return invalid("zip: the structure must name each input once and in order, got " + nest.dump());
  ++seen;
  const Schema& schema = node.inputs[static_cast<size_t>(input)]->schema;
  const auto first = static_cast<int64_t>(out.size());
  const bool bare = schema.size() == 1 && schema.structure == "0";
  for (size_t i = 0; i < schema.size(); ++i) {
    out.names.push_back(bare && !path.empty() ? path : below(schema.names[i]));
    out.specs.push_back(schema.specs[i]);
  }
  HEADRACE_ASSIGN(const Value fields, Value::parse(schema.structure));
  const auto counted_on = [first](const Value& value, const auto& self) -> Value {
    if (value.integer()) return Value(*value.integer() + first);
    if (const auto* list = value.list()) {
      Value::List made;
      for (const Value& item : *list) made.push_back(self(item, self));
      return Value(std::move(made));
    }
    Value::Object made;
    for (const auto& [name, item] : *value.object()) made.emplace_back(name, self(item, self));
    return Value(std::move(made));
  };
  return counted_on(fields, counted_on);
}

}  // namespace

Status unite(Node& node, size_t count) {
  if (count == 0) return invalid(verb(node) + ": expected at least one dataset");
  const Node& first = *node.inputs[0];
  node.schema = first.schema;
  for (size_t k = 0; k < count; ++k) {
    const Node& input = *node.inputs[k];
    HEADRACE_TRY(refuse_shard(node, input));
    if (input.schema.names != node.schema.names || input.schema.structure != node.schema.structure)
      return invalid(verb(node) + ": expected datasets with the same fields, got " + node.schema.text() +
                     " and " + input.schema.text());
    for (size_t i = 0; i < node.schema.size(); ++i)
      HEADRACE_TRY(widen(node, node.schema.names[i], node.schema.specs[i], input.schema.specs[i]));
    node.indexed = node.indexed && input.indexed;
  }
  return {};
}

Status infer(Node& node, Zip& zip) {
  if (node.inputs.empty()) return invalid("zip: expected at least one dataset");
  if (zip.ids >= node.inputs.size())
    return invalid("zip: ids must name one of the " + std::to_string(node.inputs.size()) + " inputs, got " +
                   std::to_string(zip.ids));
  bool known = true, empty = false;
  uint64_t total = kInfinite;
  for (const NodePtr& input : node.inputs) {
    HEADRACE_TRY(refuse_shard(node, *input));
    node.indexed = node.indexed && input->indexed;
    known = known && input->total;
    empty = empty || input->total == Size(0);
    if (input->total) total = std::min(total, *input->total);
  }
  node.total = empty ? Size(0) : known ? Size(total) : Size();
  HEADRACE_ASSIGN(const Value nest, Value::parse(zip.structure));
  int64_t seen = 0;
  HEADRACE_ASSIGN(const Value made, nested(nest, "", node, node.schema, seen));
  if (seen != static_cast<int64_t>(node.inputs.size()))
    return invalid("zip: the structure must name each of the " + std::to_string(node.inputs.size()) +
                   " inputs once, got " + zip.structure);
  node.schema.structure = made.dump();
  return {};
}

Status infer(Node& node, Mix& mix) {
  HEADRACE_TRY(unite(node, node.inputs.size()));
  HEADRACE_TRY(check_weights_count(mix, node.inputs.size()));
  const auto sizes = sizes_of(node, node.inputs.size());
  if (sizes && mix.stop == MixStop::cycle)
    for (size_t i = 0; i < sizes->size(); ++i)
      if ((*sizes)[i] == 0)
        return invalid("mix: dataset " + std::to_string(i) + " is empty and cannot be repeated");
  const bool as_before = mix.order && sizes && mix.sizes == *sizes;  // the same order over other inputs
  if (!as_before) {
    HEADRACE_ASSIGN(Mixture made, Mixture::make(mix.schedule, mix.seed));
    mix.sizes = sizes.value_or(std::vector<uint64_t>());
    mix.total = sizes ? made.settle(mix.stop, *sizes) : 0;
    mix.order = std::make_shared<const Mixture>(std::move(made));
  }
  node.total = sizes ? Size(mix.total) : Size();
  return {};
}

Status infer(Node& node, Choose& choose) {
  HEADRACE_TRY(check_numbers(node, 2));
  const size_t count = node.inputs.size() - 1;
  HEADRACE_TRY(unite(node, count));
  const auto sizes = sizes_of(node, count);
  HEADRACE_ASSIGN(const std::vector<int64_t> choices, numbers<int64_t>(node, DType::i64, "choices"));
  HEADRACE_ASSIGN(Choices made, Choices::make(choices, static_cast<uint32_t>(count)));
  node.total.reset();
  if (sizes) {
    HEADRACE_ASSIGN(node.total, made.settle(choose.stop, *sizes));
  }
  choose.order = std::make_shared<const Choices>(std::move(made));
  return {};
}

uint64_t windows_of(const Window& window, uint64_t rows) {
  if (rows == kInfinite) return kInfinite;
  const uint64_t span = (window.size - 1) * window.stride + 1;
  if (!window.drop_last) return rows / window.shift + (rows % window.shift != 0);
  return rows < span ? 0 : (rows - span) / window.shift + 1;
}

Status check_has_fields(const Node& node) {
  if (node.inputs[0]->schema.size() > 0) return {};
  return invalid(std::string(kind_name(node.kind)) + ": expected elements with at least one field, got none");
}

Status infer(Node& node, Window& window) {
  if (node.inputs.size() != 1)
    return invalid("window: expected one input, got " + std::to_string(node.inputs.size()));
  HEADRACE_TRY(inherit(node));
  HEADRACE_TRY(check_has_fields(node));
  constexpr uint64_t kMost = uint64_t{1} << 31;
  for (const auto& [name, value] :
       {std::pair{"size", window.size}, {"shift", window.shift}, {"stride", window.stride}})
    if (value < 1 || value > kMost)
      return invalid("window: " + std::string(name) + " must be from 1 to 2^31, got " +
                     std::to_string(value));
  for (TensorSpec& spec : node.schema.specs) {
    if (spec.shape.rank() == kMaxRank) return invalid("window: rank would exceed 8");
    spec.shape = spec.shape.with_front(window.drop_last ? static_cast<int64_t>(window.size) : kAny);
  }
  // Each rank has its own order of windows, as of batches.
  const Size rows = node.shard && node.total ? Size(shard_size(*node.shard, *node.total)) : node.total;
  node.total = rows ? Size(windows_of(window, *rows)) : Size();
  node.shard.reset();
  return {};
}

Status infer(Node& node, Draw& draw) {
  HEADRACE_TRY(check_numbers(node, 2));
  HEADRACE_TRY(inherit(node));
  const Source* source = source_of_numbers(node);
  if (!draw.made_of || draw.made_of.get() != source) {
    HEADRACE_ASSIGN(std::vector<double> weights, numbers<double>(node, DType::f64, "weights"));
    HEADRACE_ASSIGN(AliasTable table, AliasTable::make(weights));
    if (draw.replacement)
      draw.table = std::make_shared<const AliasTable>(std::move(table));
    else
      draw.weights = std::make_shared<const std::vector<double>>(std::move(weights));
    draw.made_of = node.inputs.back()->as<Read>()->source;
  }
  HEADRACE_TRY(check_fixed_order(node, "weights", source->size()));
  node.total = draw.count.value_or(source->size());
  if (draw.replacement) return {};
  const auto drawable =
      static_cast<uint64_t>(std::ranges::count_if(*draw.weights, [](double weight) { return weight > 0; }));
  if (draw.count.value_or(0) > drawable)
    return invalid("sample: num must be at most " + std::to_string(drawable) +
                   " without replacement, the number of elements with a weight above 0, got " +
                   std::to_string(*draw.count));
  node.total = draw.count.value_or(drawable);
  return {};
}

Status infer(Node& node, SortBy& sort) {
  HEADRACE_TRY(check_numbers(node, 2));
  HEADRACE_TRY(inherit(node));
  const Source* source = source_of_numbers(node);
  if (!sort.made_of || sort.made_of.get() != source) {
    HEADRACE_ASSIGN(const std::vector<double> keys, numbers<double>(node, DType::f64, "keys"));
    for (size_t i = 0; i < keys.size(); ++i)
      if (keys[i] != keys[i])
        return invalid("sort_by: keys must be numbers, got nan at " + std::to_string(i));
    std::vector<uint64_t> order(keys.size());
    std::iota(order.begin(), order.end(), uint64_t{0});
    std::ranges::stable_sort(order, [&](uint64_t a, uint64_t b) {
      return sort.descending ? keys[b] < keys[a] : keys[a] < keys[b];
    });
    sort.order = std::make_shared<const std::vector<uint64_t>>(std::move(order));
    sort.made_of = node.inputs.back()->as<Read>()->source;
  }
  return check_fixed_order(node, "keys", source->size());
}

bool is_union(const Node& node) {
  return node.as<Concatenate>() || node.as<Interleave>() || node.as<Zip>() || node.as<Mix>() ||
         node.as<Choose>();
}

}  // namespace headrace
