#include "headrace/headrace.h"

#include <algorithm>

#include "headrace/core/json/exact_json.h"
#include "headrace/core/random/split_lengths.h"
#include "headrace/formats/arrays/arrays.h"
#include "headrace/formats/opening/open.h"
#include "headrace/graph/explain/notes.h"
#include "headrace/graph/meaning.h"
#include "headrace/graph/node.h"
#include "headrace/graph/passes/asked_ranks.h"
#include "headrace/graph/passes/order_of_files.h"
#include "headrace/graph/plan/plan_json.h"
#include "headrace/graph/plan/plan_members.h"
#include "headrace/graph/plan/plan_slots.h"
#include "headrace/graph/verbs/inference.h"
#include "headrace/run/count.h"

namespace headrace {

// A function while it is traced. Symbols carry no Status, so the first failure is kept here until it returns.
class Tracing {
 public:
  Tracing(Schema incoming, std::string made_at) : builder_(std::move(incoming), std::move(made_at)) {}

  ProgramBuilder& builder() { return builder_; }
  const Status& failure() const { return failure_; }
  // Returns the number of a value that does not exist: the trace continues to its end.
  int fail(Status status) {
    if (failure_.ok()) failure_ = std::move(status);
    return -1;
  }

 private:
  ProgramBuilder builder_;
  Status failure_;
};

namespace {

class FunctionOrder final : public EpochOrder {
 public:
  using Function = std::function<std::vector<int64_t>(uint64_t epoch)>;
  FunctionOrder(Function function, uint64_t size, std::string slot)
      : function_(std::move(function)), size_(size), slot_(std::move(slot)) {}
  uint64_t size() const override { return size_; }
  Result<std::vector<int64_t>> positions(uint64_t epoch) const override { return function_(epoch); }
  Value describe() const override { return Value::Object{{"slot", slot_}, {"size", size_}}; }

 private:
  Function function_;
  uint64_t size_;
  std::string slot_;
};

constexpr int64_t kPlanVersion = 1;

Value object_of(Params params) {
  Value out{Value::Object()};
  for (const auto& [name, value] : params) out.set(name, value);
  return out;
}

// "train.cc:31"; "" without a line.
std::string line_text(const Line& at) {
  if (at.line() == 0) return {};
  const std::string_view path = at.file_name();
  return std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(at.line());
}
std::string verb_at(std::string_view verb, const Line& at) {
  return at.line() == 0 ? std::string() : std::string(verb) + " at " + line_text(at);
}

template <class F> Result<Program> trace(const NodePtr& node, std::string_view verb, F&& f) {
  Tracing tracing(node->schema, std::string(verb));
  ProgramBuilder& builder = tracing.builder();
  // All fields first, in order: values keep their numbers while the program grows.
  for (size_t i = 0; i < node->schema.size(); ++i) builder.field(static_cast<int>(i));
  const Outputs outputs = f(Fields(&tracing));
  if (!tracing.failure().ok())
    return Status(tracing.failure())
        .before(verb.empty() ? "" : std::string(verb) + ": ")
        .with({.place = std::string(verb)});
  std::vector<std::string> names;
  std::vector<int> values;
  for (const auto& [name, symbol] : outputs) names.push_back(name), values.push_back(symbol.value());
  return builder.finish(std::move(names), std::move(values));
}

Result<Program> trace_choice(const NodePtr& node, std::string_view verb, const Choice& f) {
  return trace(node, verb, [&](const Fields& s) { return Outputs{{"value", f(s)}}; });
}

// The side input of numbers of a kind that takes one.
Result<NodePtr> numbers_node(const void* values, DType dtype, size_t count, std::string slot) {
  const auto bytes = static_cast<const std::byte*>(values);
  std::vector<Tensor> column{make_tensor({dtype, {static_cast<int64_t>(count)}, bytes})};
  HEADRACE_ASSIGN(SourcePtr source, array_source({{"value"}, {}, "0"}, std::move(column), std::move(slot)));
  return make_node(Read{std::move(source)}, {});
}

// The plan for this process, whose ranks `ask` or else ranks() gives.
Result<NodePtr> with_ranks_of_process(const NodePtr& node, const std::function<Result<Ranks>()>& ask) {
  if (!asks_ranks(*node)) return node;
  HEADRACE_ASSIGN(const Ranks found, ask ? ask() : ranks());
  return with_ranks(node, found);
}

// The nodes of datasets, or the first error.
Result<std::vector<NodePtr>> nodes_of(const std::vector<Dataset>& datasets) {
  std::vector<NodePtr> out;
  for (const Dataset& dataset : datasets) {
    if (!dataset.node().ok()) return dataset.node().status();
    out.push_back(*dataset.node());
  }
  return out;
}

Dataset zipped(const std::vector<Dataset>& datasets, const Value& structure) {
  auto inputs = nodes_of(datasets);
  return inputs.ok() ? Dataset(make_node(Zip{structure.dump(), 0}, *std::move(inputs)))
                     : Dataset(inputs.status());
}

Result<std::vector<int>> add_c_function(ProgramBuilder& builder, const CFunction& function,
                                        const std::vector<Symbol>& inputs) {
  HEADRACE_ASSIGN(OpPtr op, c_function_op(function));
  std::vector<int> values;
  for (const Symbol& symbol : inputs) values.push_back(symbol.value());
  return builder.add_op(std::move(op), values);
}

// The program that passes all fields to a C function and returns its outputs.
Result<Program> program_of(const CFunction& function, const NodePtr& node, std::string_view verb) {
  ProgramBuilder builder(node->schema, std::string(verb));
  std::vector<int> fields;
  for (size_t i = 0; i < node->schema.size(); ++i) fields.push_back(builder.field(static_cast<int>(i)));
  HEADRACE_ASSIGN(OpPtr op, c_function_op(function));
  HEADRACE_ASSIGN(std::vector<int> made, builder.add_op(std::move(op), fields));
  if (made.size() == 1) return builder.finish({"value"}, std::move(made), "0");
  std::vector<std::string> names;
  Value::List structure;
  for (size_t i = 0; i < made.size(); ++i) {
    names.push_back(std::to_string(i));
    structure.emplace_back(static_cast<int64_t>(i));
  }
  return builder.finish(std::move(names), std::move(made), Value(std::move(structure)).dump());
}

}  // namespace

Dataset zip(const std::vector<Dataset>& datasets) {
  Value::List structure;
  for (size_t i = 0; i < datasets.size(); ++i) structure.emplace_back(static_cast<int64_t>(i));
  return zipped(datasets, Value(std::move(structure)));
}

Dataset zip(const std::vector<std::pair<std::string, Dataset>>& datasets) {
  Value::Object structure;
  std::vector<Dataset> inputs;
  for (const auto& [name, dataset] : datasets) {
    structure.emplace_back(name, Value(static_cast<int64_t>(inputs.size())));
    inputs.push_back(dataset);
  }
  return zipped(inputs, Value(std::move(structure)));
}

std::vector<Dataset> align_labels(const std::vector<Dataset>& datasets) {
  auto inputs = nodes_of(datasets);
  if (!inputs.ok()) return datasets;
  auto aligned = headrace::align_labels(*std::move(inputs), "");
  if (!aligned.ok()) return std::vector<Dataset>(datasets.size(), Dataset(aligned.status()));
  std::vector<Dataset> out;
  for (NodePtr& node : *aligned) out.emplace_back(std::move(node));
  return out;
}

Dataset mix(const std::vector<Dataset>& datasets, MixOptions options) {
  auto inputs = nodes_of(datasets);
  if (!inputs.ok()) return Dataset(inputs.status());
  Mix kind{std::move(options.schedule), options.seed, options.stop};
  if (kind.schedule.empty()) {
    if (options.weights.empty()) options.weights.assign(datasets.size(), 1.0);
    kind.schedule.push_back({0, std::move(options.weights)});
  }
  return Dataset(make_node(std::move(kind), *std::move(inputs)));
}

Dataset choose(const std::vector<Dataset>& datasets, const std::vector<int64_t>& choices, MixStop stop) {
  auto inputs = nodes_of(datasets);
  auto numbers = numbers_node(choices.data(), DType::i64, choices.size(), "choices");
  if (!inputs.ok() || !numbers.ok()) return Dataset(inputs.ok() ? numbers.status() : inputs.status());
  inputs->push_back(*std::move(numbers));
  return Dataset(make_node(Choose{stop}, *std::move(inputs)));
}

std::vector<Symbol> apply(std::string_view op, std::vector<Symbol> inputs, Params params) {
  std::vector<int> values;
  for (const Symbol& s : inputs) values.push_back(s.value());
  const size_t expected = inputs.size();
  Tracing* const tracing = inputs.empty() ? nullptr : inputs[0].tracing();
  std::vector<Symbol> out;
  if (tracing && tracing->failure().ok()) {
    auto made = tracing->builder().add(op, object_of(params), values);
    if (!made.ok())
      tracing->fail(made.status());
    else
      for (int v : *made) out.emplace_back(tracing, v);
  }
  while (out.size() < expected)
    out.emplace_back(tracing, -1);  // after a failure the trace continues to its end
  return out;
}

std::vector<Symbol> apply(const CFunction& function, const std::vector<Symbol>& inputs) {
  Tracing* const tracing = inputs.empty() ? nullptr : inputs[0].tracing();
  std::vector<Symbol> out;
  if (tracing && tracing->failure().ok()) {
    auto made = add_c_function(tracing->builder(), function, inputs);
    if (!made.ok())
      tracing->fail(made.status());
    else
      for (const int value : *made) out.emplace_back(tracing, value);
  }
  while (out.size() < function.outputs.size()) out.emplace_back(tracing, -1);  // as above
  return out;
}

Symbol Symbol::apply(std::string_view op, Params params) const {
  return headrace::apply(op, {*this}, params)[0];
}

Symbol Fields::operator[](std::string_view name) const {
  if (!names_.empty()) {
    const auto at = std::ranges::find(names_, name);
    if (at != names_.end()) return {tracing_, first_ + static_cast<int>(at - names_.begin())};
    return {tracing_, tracing_->fail(invalid("no field '" + std::string(name) + "'"))};
  }
  auto value = tracing_->builder().field(name);
  return {tracing_, value.ok() ? *value : tracing_->fail(value.status())};
}

template <class K> Dataset Dataset::then(K kind, const Line& at) const {
  if (!node_.ok()) return *this;
  return Dataset(make_node(std::move(kind), {*node_}, line_text(at)));
}

Dataset Dataset::flat_map(const Mapping& f, Line at) const { return map(f, at).unbatch(at); }

Dataset Dataset::unbatch(Line at) const { return then(Unbatch{}, at); }

Dataset Dataset::shuffle(ShuffleOptions o, Line at) const {
  return then(Shuffle{o.seed, o.window, o.blocks, o.reshuffle_each_epoch}, at);
}

Dataset Dataset::shard(ShardOptions o, Line at) const {
  if (o.rank.has_value() != o.world.has_value())
    return Dataset(
        invalid({.expected = "both rank and world or neither",
                 .got = o.rank ? "rank " + std::to_string(*o.rank) : "world " + std::to_string(*o.world)})
            .in_op("shard"));
  Shard made{.even = o.even, .steps = o.steps, .fixed = o.fixed, .contiguous = o.contiguous};
  if (!o.rank) {
    made.ranks = RanksOf::environment, made.replicate = o.replicate;
    const Dataset asking = then(made, at);
    return asking.node().ok() ? Dataset(with_ranks_of_process(*asking.node(), {})) : asking;
  }
  made.rank = *o.rank, made.world = *o.world;
  if (o.replicate == 1) return then(made, at);
  const Result<Ranks> shared = with_replicas({.rank = *o.rank, .world = *o.world}, o.replicate);
  if (!shared.ok()) return Dataset(shared.status());
  made.rank = shared->rank, made.world = shared->world;
  return then(made, at);
}

Dataset Dataset::repeat(uint64_t times, Line at) const { return then(Repeat{times}, at); }

Dataset Dataset::take(uint64_t count, Line at) const { return then(Take{count}, at); }

Dataset Dataset::skip(uint64_t count, Line at) const { return then(Skip{count}, at); }

Dataset Dataset::batch(uint64_t size, BatchOptions o, Line at) const {
  return then(Batch{size, o.drop_last, o.ragged}, at);
}

Dataset Dataset::ragged_batch(uint64_t size, bool drop_last, Line at) const {
  return batch(size, {.drop_last = drop_last, .ragged = true}, at);
}

Dataset Dataset::cache(CacheOptions o, Line at) const {
  return then(Cache{o.path, o.max_memory, o.version}, at);
}

Dataset Dataset::window(uint64_t size, WindowOptions o, Line at) const {
  return then(Window{size, o.shift == 0 ? size : o.shift, o.stride, o.drop_last, o.ragged}, at);
}

Dataset Dataset::rebatch(uint64_t size, BatchOptions o, Line at) const {
  return unbatch(at).batch(size, o, at);
}

Dataset Dataset::on_error(OnErrorPolicy policy, Line at) const { return then(OnError{policy}, at); }

Dataset Dataset::map(const Mapping& f, Line at) const {
  if (!node_.ok()) return *this;
  auto program = trace(*node_, verb_at("map", at), f);
  return program.ok() ? then(Map{*program}, at) : Dataset(program.status());
}

Dataset Dataset::filter(const Choice& f, Line at) const {
  if (!node_.ok()) return *this;
  auto program = trace_choice(*node_, verb_at("filter", at), f);
  return program.ok() ? then(Filter{*program}, at) : Dataset(program.status());
}

Dataset Dataset::map(const CFunction& f, Line at) const {
  if (!node_.ok()) return *this;
  auto program = program_of(f, *node_, verb_at("map", at));
  return program.ok() ? then(Map{*program}, at) : Dataset(program.status());
}

Dataset Dataset::filter(const CFunction& f, Line at) const {
  if (!node_.ok()) return *this;
  auto program = program_of(f, *node_, verb_at("filter", at));
  return program.ok() ? then(Filter{*program}, at) : Dataset(program.status());
}

Dataset Dataset::take_while(const Choice& f, Line at) const {
  if (!node_.ok()) return *this;
  auto program = trace_choice(*node_, verb_at("take_while", at), f);
  return program.ok() ? then(TakeWhile{*program}, at) : Dataset(program.status());
}

Dataset Dataset::unique(const Mapping& key, Line at) const {
  if (!node_.ok()) return *this;
  auto program = trace(*node_, verb_at("unique", at), key);
  return program.ok() ? then(Unique{*program}, at) : Dataset(program.status());
}

Dataset Dataset::scan(const State& initial, const ScanStep& f, Line at) const {
  if (!node_.ok()) return *this;
  Scan scan;
  std::vector<std::string> names;
  for (const auto& [name, value] : initial) names.push_back(name), scan.initial.push_back(value);
  Tracing tracing(scan_schema(scan.initial, (*node_)->schema), verb_at("scan", at));
  ProgramBuilder& builder = tracing.builder();
  for (size_t i = 0; i < names.size() + (*node_)->schema.size(); ++i) builder.field(static_cast<int>(i));
  const auto states = static_cast<int>(names.size());
  const Stepped stepped = f(Fields(&tracing, names, 0), Fields(&tracing, (*node_)->schema.names, states));
  if (!tracing.failure().ok()) return Dataset(Status(tracing.failure()).in_op("scan"));
  std::vector<std::string> state_names, element_names;
  std::vector<int> values;
  for (const auto& [name, symbol] : stepped.state)
    state_names.push_back(name), values.push_back(symbol.value());
  if (state_names != names)
    return Dataset(invalid("the new state must have the same names as the initial one, in the same order")
                       .in_op("scan"));
  for (const auto& [name, symbol] : stepped.element)
    element_names.push_back(name), values.push_back(symbol.value());
  scan.structure = Schema::of(element_names, std::vector<TensorSpec>(element_names.size())).structure;
  for (std::string& name : state_names) name.insert(0, "state/");
  state_names.insert(state_names.end(), element_names.begin(), element_names.end());
  auto program = builder.finish(std::move(state_names), std::move(values));
  if (!program.ok()) return Dataset(program.status());
  scan.program = *std::move(program);
  for (size_t i = 0; i < element_names.size(); ++i)
    scan.program.schema.names[names.size() + i] = element_names[i];
  return then(std::move(scan), at);
}

Result<std::vector<Tensor>> Dataset::reduce(
    const State& initial, const std::function<Outputs(const Fields&, const Fields&)>& f) const {
  const Dataset states = scan(initial, [&](const Fields& state, const Fields& element) {
    const Outputs next = f(state, element);
    return Stepped{next, next};
  });
  HEADRACE_ASSIGN(const std::unique_ptr<Loader> loader, states.loader());
  Sample last;
  for (const auto& [name, value] : initial) last.fields.push_back(value);
  HEADRACE_TRY(loader->begin());
  for (Sample next;; last = std::move(next)) {
    HEADRACE_ASSIGN(const bool more, loader->next(next));
    if (!more) return last.fields;
  }
}

Dataset Dataset::padded_batch(uint64_t size, const PadOptions& pad, bool drop_last, Line at) const {
  if (!node_.ok()) return *this;
  auto padding = padding_from(&pad.shapes, &pad.fill, (*node_)->schema, "padded_batch");
  return padding.ok() ? then(Batch{size, drop_last, false, *padding}, at) : Dataset(padding.status());
}

Dataset Dataset::bucket_by_length(std::string_view field, const BucketOptions& o, Line at) const {
  return bucket_by_length([&](const Fields& s) { return s[field].apply("length"); }, o, at);
}

Dataset Dataset::bucket_by_length(const Choice& length, const BucketOptions& o, Line at) const {
  if (!node_.ok()) return *this;
  return group_by(trace_choice(*node_, verb_at("bucket_by_length", at), length), true, o, at);
}

Dataset Dataset::group_by_window(const Choice& key, uint64_t size, BatchOptions o, Line at) const {
  if (!node_.ok()) return *this;
  BucketOptions options;
  options.sizes = {size}, options.drop_last = o.drop_last, options.ragged = o.ragged;
  return group_by(trace_choice(*node_, verb_at("group_by_window", at), key), false, options, at);
}

Dataset Dataset::group_by(Result<Program> program, bool by_length, const BucketOptions& o,
                          const Line& at) const {
  if (!program.ok()) return Dataset(program.status());
  GroupBy group{*std::move(program), by_length, o.boundaries, o.sizes, o.token_budget, o.pad_to_boundary, {}};
  group.batch.drop_last = o.drop_last, group.batch.ragged = o.ragged;
  if (by_length && !o.ragged) {
    auto padding = padding_from(&o.pad.shapes, &o.pad.fill, (*node_)->schema, "bucket_by_length");
    if (!padding.ok()) return Dataset(padding.status());
    group.batch.padding = *std::move(padding);
  }
  return then(std::move(group), at);
}

Dataset Dataset::pack(const std::vector<std::pair<std::string, uint64_t>>& lengths, const PackOptions& o,
                      Line at) const {
  if (!node_.ok()) return *this;
  Pack pack;
  pack.strategy = o.strategy, pack.bins = o.bins, pack.most = o.max_sequences, pack.drop_last = o.drop_last;
  for (const auto& [name, length] : lengths) {
    const int field = (*node_)->schema.find(name);
    if (field < 0)
      return Dataset(
          invalid("no field '" + name + "'; the fields are " + (*node_)->schema.text()).in_op("pack"));
    pack.packed.push_back(field), pack.lengths.push_back(length);
    const auto whole = static_cast<int64_t>(o.fill);
    pack.fill.push_back(static_cast<double>(whole) == o.fill ? Value(whole) : Value(o.fill));
  }
  return then(std::move(pack), at);
}

Dataset Dataset::with_ids(std::string_view field, Line at) const {
  if (!node_.ok()) return *this;
  auto program = add_engine_field(*node_, kIdField, field);
  return program.ok() ? then(Map{*program}, at) : Dataset(program.status());
}

Dataset Dataset::with_validity(std::string_view field, Line at) const {
  if (!node_.ok()) return *this;
  auto program = add_engine_field(*node_, kValidField, field);
  return program.ok() ? then(Map{*program}, at) : Dataset(program.status());
}

Dataset Dataset::concatenate(const Dataset& other, Line at) const {
  if (!node_.ok()) return *this;
  if (!other.node_.ok()) return other;
  return Dataset(make_node(Concatenate{}, {*node_, *other.node_}, line_text(at)));
}

template <class K>
Dataset Dataset::then(K kind, std::vector<double> numbers, std::string slot, const Line& at) const {
  if (!node_.ok()) return *this;
  const auto beside = numbers_node(numbers.data(), DType::f64, numbers.size(), std::move(slot));
  if (!beside.ok()) return Dataset(beside.status());
  return Dataset(make_node(std::move(kind), {*node_, *beside}, line_text(at)));
}

Dataset Dataset::zip(const Dataset& other) const { return headrace::zip({*this, other}); }

Dataset Dataset::enumerate(int64_t start, Line at) const {
  if (!node_.ok()) return *this;
  return Dataset(make_node(Zip{"[0,1]", 1}, {*counter(start).node(), *node_}, line_text(at)));
}

Dataset Dataset::sample(std::vector<double> weights, SampleOptions o, Line at) const {
  return then(Draw{o.seed, o.replacement, o.num}, std::move(weights), "weights", at);
}

Dataset Dataset::assert_cardinality(uint64_t count, Line at) const {
  return then(AssertCardinality{count}, at);
}

Dataset Dataset::sort_by(std::vector<double> keys, bool descending, Line at) const {
  return then(SortBy{descending}, std::move(keys), "keys", at);
}

Dataset Dataset::select(const std::vector<int64_t>& indices, Line at) const {
  if (!node_.ok()) return *this;
  const auto numbers = numbers_node(indices.data(), DType::i64, indices.size(), "indices");
  if (!numbers.ok()) return Dataset(numbers.status());
  return Dataset(make_node(Select{}, {*node_, *numbers}, line_text(at)));
}

Dataset Dataset::reorder(std::function<std::vector<int64_t>(uint64_t epoch)> positions, uint64_t length,
                         std::string slot, Line at) const {
  if (!node_.ok()) return *this;
  auto order = std::make_shared<FunctionOrder>(std::move(positions), length, std::move(slot));
  return Dataset(make_node(Reorder{std::move(order)}, {*node_}, line_text(at)));
}

Result<std::vector<Dataset>> Dataset::random_split(const std::vector<double>& lengths, uint64_t seed,
                                                   Line at) const {
  if (!node_.ok()) return node_.status();
  HEADRACE_ASSIGN(const uint64_t total, fixed_total(**node_, "random_split", "parts"));
  auto counts = split_lengths(lengths, total);
  if (!counts.ok()) return counts.status().in_op("random_split");
  const Dataset mixed = shuffle({.seed = seed, .reshuffle_each_epoch = false}, at);
  std::vector<Dataset> out;
  uint64_t begin = 0;
  for (const uint64_t count : *counts) {
    out.push_back(mixed.skip(begin, at).take(count, at));
    begin += count;
  }
  return out;
}

Result<std::unique_ptr<Loader>> Dataset::loader(LoaderOptions options) const {
  if (!node_.ok()) return node_.status();
  HEADRACE_ASSIGN(NodePtr here, with_ranks_of_process(*node_, {}));
  return Loader::make(std::move(here), std::move(options), file_store());
}

Result<uint64_t> count(const Dataset& data, LoaderOptions options, const std::function<bool()>& goes_on) {
  if (!data.node().ok()) return data.node().status();
  HEADRACE_ASSIGN(const NodePtr here, with_ranks_of_process(*data.node(), {}));
  return count_elements(here, std::move(options), file_store(), goes_on);
}

std::vector<std::string> Dataset::notes() const {
  if (!node_.ok()) return {};
  std::vector<std::string> out = data_notes(**node_);
  if (asks_ranks(**node_))
    if (const Result<Ranks> found = ranks(); found.ok() && !found->warning.empty())
      out.push_back(found->warning);
  return out;
}

Result<std::string> Dataset::plan(uint64_t seed) const {
  if (!node_.ok()) return node_.status();
  Value out{Value::Object()};
  out.set("headrace", kPlanVersion);
  out.set("seed", seed);
  out.set("plan", plan_to_value(*node_));
  return out.dump(1) + "\n";
}

Dataset read(const std::string& path, std::string_view format, const Value& options) {
  auto source = open_source(*file_store(), path, format, options);
  return source.ok() ? from_source(*source) : Dataset(source.status());
}

Dataset read(const std::vector<std::string>& paths, std::string_view format, const Value& options) {
  auto source = open_source(*file_store(), paths, format, options);
  return source.ok() ? from_source(*source) : Dataset(source.status());
}

Result<std::vector<std::string>> list_splits(const std::string& path, std::string_view format) {
  return list_splits(*file_store(), path, format);
}

Dataset from_source(SourcePtr source) { return Dataset(make_node(Read{std::move(source)}, {})); }
Dataset from_generator(GeneratorPtr generator) {
  return Dataset(make_node(Generate{std::move(generator)}, {}));
}

Dataset interleave(const std::vector<Dataset>& datasets, InterleaveOptions o) {
  auto nodes = nodes_of(datasets);
  if (!nodes.ok()) return Dataset(nodes.status());
  const uint64_t cycle = o.cycle_length == 0 ? std::max<size_t>(nodes->size(), 1) : o.cycle_length;
  return Dataset(make_node(Interleave{cycle, o.block_length}, *std::move(nodes)));
}

Dataset interleave(const std::vector<Dataset>& datasets, const Dataset& order, InterleaveOptions o) {
  auto nodes = nodes_of(datasets);
  if (!nodes.ok()) return Dataset(nodes.status());
  if (!order.node().ok()) return order;
  auto whole = dealing_whole_files(*order.node());
  if (!whole.ok()) return Dataset(whole.status());
  const uint64_t cycle = o.cycle_length == 0 ? std::max<size_t>(nodes->size(), 1) : o.cycle_length;
  nodes->push_back(*std::move(whole));
  return Dataset(make_node(Interleave{cycle, o.block_length, true}, *std::move(nodes)));
}

Dataset counter(int64_t start, int64_t step) { return from_source(counter_source(start, step)); }
Dataset random(uint64_t seed, const Shape& shape, uint64_t size) {
  auto source = random_source(seed, shape, size);
  return source.ok() ? from_source(*source) : Dataset(source.status());
}
Dataset range(int64_t stop) { return range(0, stop); }
Dataset range(int64_t start, int64_t stop, int64_t step) {
  auto source = range_source(start, stop, step);
  return source.ok() ? from_source(*source) : Dataset(source.status());
}

Result<IndexedPoints> index(const Dataset& data, const IndexOptions& options) {
  if (!data.node().ok()) return data.node().status();
  return index_points(*data.node(), options, file_store());
}

Result<WriteReport> write(const Dataset& data, const std::string& target, const WriteOptions& options) {
  if (!data.node().ok()) return data.node().status();
  return write_dataset(*data.node(), target, options, file_store());
}

Result<LoadedPlan> load_plan(std::string_view json, const Bindings& bindings) {
  auto parsed = parse_exact(json);
  if (!parsed.ok())
    return parsed.status().before("plan: expected the output of save_plan(), got invalid JSON: ");
  const Value text = *std::move(parsed);
  if (!text.find("headrace"))
    return invalid(
        text.find("fingerprint")
            ? "plan: expected the output of save_plan(), got the state of an iteration; pass it to "
              "load_state_dict() or `headrace run --state`"
            : "plan: expected the output of save_plan(), got JSON without 'headrace'");
  const auto version = text.get_integer("headrace");
  if (!version.ok()) return version.status().in_op("plan");
  if (*version != kPlanVersion)
    return invalid({.expected = "version 1", .got = std::to_string(*version)}).in_op("plan");
  constexpr std::string_view kMembers[] = {"headrace", "seed", "plan"};
  HEADRACE_TRY(check_members(text, "plan", kMembers, {}));
  const auto seed = text.get_integer("seed");
  if (!seed.ok()) return seed.status().in_op("plan");
  HEADRACE_ASSIGN(const Value bound, with_paths(*text.find("plan"), bindings.paths));
  HEADRACE_ASSIGN(const NodePtr loaded, plan_from_value(bound, *file_store(), bindings));
  HEADRACE_ASSIGN(NodePtr node, with_ranks_of_process(loaded, bindings.ranks));
  return LoadedPlan{Dataset(std::move(node)), static_cast<uint64_t>(*seed)};
}

}  // namespace headrace
