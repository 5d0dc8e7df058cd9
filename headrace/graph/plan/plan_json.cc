#include "headrace/graph/plan/plan_json.h"

#include <algorithm>
#include <limits>

#include "headrace/formats/opening/open.h"
#include "headrace/graph/plan/order_kinds_json.h"
#include "headrace/graph/plan/plan_members.h"
#include "headrace/graph/plan/plan_slots.h"
#include "headrace/graph/plan/plan_values.h"
#include "headrace/ops/c_function.h"

namespace headrace {
namespace {

constexpr std::string_view kEven[] = {"wrap", "drop", "pad"};
constexpr std::string_view kPolicy[] = {"raise", "skip", "replace"};
constexpr std::string_view kStrategy[] = {"first_fit", "best_fit", "concat_and_split"};

template <size_t N>
Result<size_t> index_of(const std::string_view (&names)[N], std::string_view name, std::string_view what) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == name) return i;
  std::string wanted;
  for (std::string_view n : names) wanted += (wanted.empty() ? "" : ", ") + std::string(n);
  return invalid(std::string(what) + " must be one of " + wanted + ", got '" + std::string(name) + "'");
}

Value list_of(std::span<const int> values) {
  Value::List out;
  for (int v : values) out.emplace_back(v);
  return out;
}
template <class T> Value numbers_to_value(const std::vector<T>& numbers) {
  return Value::List(numbers.begin(), numbers.end());
}

// {"dtype", "shape", "bytes": hex}: bit-exact.
Value tensor_to_value(const Tensor& tensor) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const std::byte b : tensor.view().bytes()) {
    hex += digits[static_cast<size_t>(b) >> 4];
    hex += digits[static_cast<size_t>(b) & 15];
  }
  Value out{Value::Object()};
  out.set("dtype", short_name(tensor.dtype));
  out.set("shape", Value::List(tensor.shape.dims().begin(), tensor.shape.dims().end()));
  out.set("bytes", hex);
  return out;
}

// The members of a kind, one overload each.
struct ToValue {
  Value& out;
  void operator()(const Read& read) { out.set("source", read.source->describe()); }
  void operator()(const Map& map) { out.set("program", program_to_value(map.program)); }
  void operator()(const Filter& filter) { out.set("program", program_to_value(filter.predicate)); }
  void operator()(const Generate& g) { out.set("generator", g.generator->describe()); }
  void operator()(const TakeWhile& t) { out.set("program", program_to_value(t.program)); }
  void operator()(const Unique& u) { out.set("program", program_to_value(u.program)); }
  void operator()(const Scan& s) {
    out.set("program", program_to_value(s.program));
    Value::List initial;
    for (const Tensor& leaf : s.initial) initial.push_back(tensor_to_value(leaf));
    out.set("initial", std::move(initial));
    out.set("structure", s.structure);
  }
  void operator()(const Unbatch&) {}
  void operator()(const Shuffle& s) {
    out.set("seed", s.seed), out.set("window", s.window);
    if (s.blocks > 0) out.set("blocks", s.blocks);
  }
  void operator()(const Shard& s) {
    out.set("rank", s.rank), out.set("world", s.world), out.set("even", kEven[static_cast<size_t>(s.even)]);
    if (s.steps) out.set("steps", *s.steps);
  }
  void operator()(const Repeat& r) { out.set("times", r.times); }
  void operator()(const Take& t) { out.set("count", t.count); }
  void operator()(const Skip& s) { out.set("count", s.count); }
  void operator()(const Concatenate&) {}
  void operator()(const Interleave& i) { out.set("cycle", i.cycle), out.set("block", i.block); }
  void operator()(const Batch& b) {
    out.set("size", b.size), out.set("drop_last", b.drop_last), out.set("ragged", b.ragged);
    if (b.padding) out.set("padding", padding_to_value(*b.padding));
  }
  void operator()(const GroupBy& g) {
    out.set("program", program_to_value(g.program));
    if (g.by_length) out.set("boundaries", numbers_to_value(g.boundaries));
    if (g.token_budget > 0)
      out.set("token_budget", g.token_budget);
    else
      out.set("sizes", numbers_to_value(g.sizes));
    out.set("drop_last", g.batch.drop_last), out.set("ragged", g.batch.ragged);
    if (g.batch.padding) out.set("padding", padding_to_value(*g.batch.padding));
    if (g.pad_to_boundary) out.set("pad_to_boundary", true);
  }
  void operator()(const Pack& p) {
    out.set("strategy", kStrategy[static_cast<size_t>(p.strategy)]);
    out.set("fields", list_of(p.fields)), out.set("lengths", numbers_to_value(p.lengths));
    out.set("fill", p.fill), out.set("bins", p.bins), out.set("most", p.most);
    out.set("drop_last", p.drop_last);
  }
  void operator()(const Cache& c) {
    if (!c.path.empty()) out.set("path", c.path);
    if (c.max_memory > 0) out.set("max_memory", c.max_memory);
    if (!c.version.empty()) out.set("version", c.version);
  }
  void operator()(const Zip& z) {
    out.set("structure", z.structure);
    if (z.ids > 0) out.set("ids", z.ids);
  }
  void operator()(const Mix& m) {
    Value::List schedule;
    for (const MixWeights& step : m.schedule)
      schedule.push_back(Value::Object{{"from", step.from},
                                       {"weights", Value::List(step.weights.begin(), step.weights.end())}});
    out.set("schedule", std::move(schedule));
    out.set("seed", m.seed), out.set("stop", kStops[static_cast<size_t>(m.stop)]);
  }
  void operator()(const Choose& c) { out.set("stop", kStops[static_cast<size_t>(c.stop)]); }
  void operator()(const Window& w) {
    out.set("size", w.size), out.set("shift", w.shift), out.set("stride", w.stride);
    out.set("drop_last", w.drop_last), out.set("ragged", w.ragged);
  }
  void operator()(const Draw& d) {
    out.set("seed", d.seed), out.set("replacement", d.replacement);
    if (d.count) out.set("num", *d.count);
  }
  void operator()(const SortBy& s) { out.set("descending", s.descending); }
  void operator()(const OnError& e) { out.set("policy", kPolicy[static_cast<size_t>(e.policy)]); }
};

Result<std::vector<int>> ints(const Value* list, std::string_view what) {
  if (!list || !list->list()) return invalid("plan: " + std::string(what) + " must be a list of numbers");
  std::vector<int> out;
  for (const Value& v : *list->list()) {
    if (!v.integer()) return invalid("plan: " + std::string(what) + " must contain numbers, got " + v.dump());
    const int64_t n = *v.integer();
    if (n != static_cast<int>(n))
      return invalid("plan: " + std::string(what) + " must contain 32-bit numbers, got " + v.dump());
    out.push_back(static_cast<int>(n));
  }
  return out;
}

Result<std::vector<uint64_t>> naturals(const Value* list, std::string_view what) {
  if (!list || !list->list()) return invalid("plan: " + std::string(what) + " must be a list of numbers");
  std::vector<uint64_t> out;
  for (const Value& v : *list->list()) {
    if (!v.integer() || *v.integer() < 0)
      return invalid("plan: " + std::string(what) + " must contain numbers of at least 0, got " + v.dump());
    out.push_back(static_cast<uint64_t>(*v.integer()));
  }
  return out;
}

Result<Tensor> tensor_from(const Value& value) {
  HEADRACE_ASSIGN(const std::string dtype, value.get_text("dtype"));
  HEADRACE_ASSIGN(const std::string hex, value.get_text("bytes"));
  HEADRACE_ASSIGN(const std::vector<uint64_t> shape, naturals(value.find("shape"), "shape"));
  TensorSpec spec;
  HEADRACE_ASSIGN(spec.dtype, parse_dtype(dtype));
  if (shape.size() > kMaxRank) return invalid("plan: shape must have at most 8 dimensions");
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  spec.shape = Shape(std::span<const int64_t>(dims));
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    if (digit(hex[i]) < 0 || digit(hex[i + 1]) < 0)
      return invalid("plan: bytes must contain only hex digits");
    bytes.push_back(static_cast<std::byte>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  }
  if (hex.size() % 2 != 0 || bytes.size() != spec.size_bytes())
    return invalid("plan: a tensor " + spec.text() + " has " + std::to_string(spec.size_bytes()) +
                   " bytes, got " + std::to_string(hex.size()) + " hex digits");
  return make_tensor({spec.dtype, spec.shape, bytes.data()});
}

// The padding of the rows of a batch; empty without padding.
Result<std::optional<Padding>> padding_of(const Value& v, const Schema& rows, std::string_view verb) {
  const Value* padding = v.find("padding");
  if (!padding) return std::optional<Padding>();
  HEADRACE_ASSIGN(Padding made, padding_from(padding->find("shapes"), padding->find("fill"), rows, verb));
  return std::optional(std::move(made));
}

Result<Kind> group_from(const Value& v, Program program, bool by_length, const Schema& rows) {
  GroupBy group;
  group.program = std::move(program), group.by_length = by_length;
  if (by_length) {
    HEADRACE_ASSIGN(const std::vector<uint64_t> boundaries, naturals(v.find("boundaries"), "boundaries"));
    group.boundaries.assign(boundaries.begin(), boundaries.end());
  }
  if (v.find("token_budget")) {
    HEADRACE_ASSIGN(group.token_budget, natural(v, "token_budget"));
  } else {
    HEADRACE_ASSIGN(group.sizes, naturals(v.find("sizes"), "sizes"));
  }
  group.batch.drop_last = v.is_true("drop_last"), group.batch.ragged = v.is_true("ragged");
  group.pad_to_boundary = v.is_true("pad_to_boundary");
  HEADRACE_ASSIGN(group.batch.padding,
                  padding_of(v, rows, by_length ? "bucket_by_length" : "group_by_window"));
  return Kind(std::move(group));
}

Result<Kind> pack_from(const Value& v) {
  Pack pack;
  HEADRACE_ASSIGN(const std::string strategy, v.get_text("strategy"));
  HEADRACE_ASSIGN(const size_t index, index_of(kStrategy, strategy, "plan: strategy"));
  pack.strategy = static_cast<PackStrategy>(index);
  HEADRACE_ASSIGN(pack.fields, ints(v.find("fields"), "fields"));
  HEADRACE_ASSIGN(pack.lengths, naturals(v.find("lengths"), "lengths"));
  if (const Value* fill = v.find("fill"); fill && fill->list()) pack.fill = *fill->list();
  HEADRACE_ASSIGN(pack.bins, natural(v, "bins"));
  HEADRACE_ASSIGN(pack.most, natural(v, "most"));
  pack.drop_last = v.is_true("drop_last");
  return Kind(std::move(pack));
}

Result<Kind> scan_from(const Value& v, Program program, std::vector<Tensor> initial) {
  HEADRACE_ASSIGN(std::string structure, v.get_text("structure"));
  return Kind(Scan{std::move(program), std::move(initial), std::move(structure)});
}

// A verb that runs a program on each element.
Result<Kind> program_verb_from(const std::string& verb, const Value& v, const Schema& incoming,
                               const std::string& made_at, const Bindings& bindings) {
  std::vector<Tensor> initial;
  if (const Value* list = v.find("initial"); list && list->list())
    for (const Value& leaf : *list->list()) {
      HEADRACE_ASSIGN(Tensor tensor, tensor_from(leaf));
      initial.push_back(std::move(tensor));
    }
  HEADRACE_ASSIGN(
      Program program,
      program_from_value(*v.find("program"), verb == "scan" ? scan_schema(initial, incoming) : incoming,
                         made_at.empty() ? verb : verb + " at " + made_at, bindings));
  if (verb == "map") return Kind(Map{std::move(program)});
  if (verb == "filter") return Kind(Filter{std::move(program)});
  if (verb == "take_while") return Kind(TakeWhile{std::move(program)});
  if (verb == "unique") return Kind(Unique{std::move(program)});
  if (verb == "scan") return scan_from(v, std::move(program), std::move(initial));
  return group_from(v, std::move(program), verb == "bucket_by_length", incoming);
}

Result<Kind> shard_from(const Value& v) {
  Shard shard;
  HEADRACE_ASSIGN(const uint64_t rank, natural(v, "rank"));
  HEADRACE_ASSIGN(const uint64_t world, natural(v, "world"));
  HEADRACE_ASSIGN(const std::string even, v.get_text("even"));
  HEADRACE_ASSIGN(const size_t index, index_of(kEven, even, "plan: even"));
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  if (rank > kMost || world > kMost)
    return invalid("plan: shard: rank and world must be 32-bit numbers, got rank " + std::to_string(rank) +
                   " of " + std::to_string(world));
  shard.rank = static_cast<uint32_t>(rank), shard.world = static_cast<uint32_t>(world);
  shard.even = static_cast<Even>(index);
  if (v.find("steps")) {
    HEADRACE_ASSIGN(shard.steps, natural(v, "steps"));
  }
  return Kind(shard);
}

Result<Kind> kind_from(const std::string& verb, const Value& v, const std::vector<NodePtr>& inputs,
                       Store& store, const Bindings& bindings, std::optional<Beside> beside) {
  const std::string made_at = v.find("at") && v.find("at")->text() ? *v.find("at")->text() : "";
  if (verb == "read") {
    const Value& source = *v.find("source");
    if (const Value* slot = source.find("slot"); slot && slot->text()) {
      HEADRACE_ASSIGN(SourcePtr bound, bound_source(source, bindings, beside));
      return Kind(Read{std::move(bound)});
    }
    HEADRACE_ASSIGN(SourcePtr opened, open_described(store, source));
    return Kind(Read{std::move(opened)});
  }
  if (verb == "from_generator") {
    const Value* generator = v.find("generator");
    const std::string* slot =
        generator && generator->find("slot") ? generator->find("slot")->text() : nullptr;
    if (!slot) return invalid("plan: from_generator: expected a 'generator' with a 'slot'");
    const auto it = bindings.generators.find(*slot);
    if (it == bindings.generators.end())
      return invalid("plan: the generator in slot '" + *slot + "' is not bound; pass bind={\"" + *slot +
                     "\": …} in Python");
    return Kind(Generate{it->second});
  }
  HEADRACE_ASSIGN(std::optional<Kind> joined, order_kind_from(verb, v));
  if (joined) return *std::move(joined);
  if (verb != "interleave" && inputs.size() != 1)
    return invalid("plan: " + verb + ": expected one input, got " + std::to_string(inputs.size()));
  for (const std::string_view named :
       {"map", "filter", "take_while", "unique", "scan", "bucket_by_length", "group_by_window"})
    if (verb == named) return program_verb_from(verb, v, inputs[0]->schema, made_at, bindings);
  if (verb == "pack") return pack_from(v);
  if (verb == "interleave") {
    HEADRACE_ASSIGN(const uint64_t cycle, natural(v, "cycle"));
    HEADRACE_ASSIGN(const uint64_t block, natural(v, "block"));
    return Kind(Interleave{cycle, block});
  }
  if (verb == "unbatch") return Kind(Unbatch{});
  if (verb == "shard") return shard_from(v);
  if (verb == "shuffle") {
    HEADRACE_ASSIGN(const int64_t seed, v.get_integer("seed"));
    HEADRACE_ASSIGN(const uint64_t window, natural(v, "window"));
    Shuffle shuffle{static_cast<uint64_t>(seed), window};
    if (v.find("blocks")) {
      HEADRACE_ASSIGN(shuffle.blocks, natural(v, "blocks"));
    }
    return Kind(shuffle);
  }
  if (verb == "batch" || verb == "padded_batch") {
    HEADRACE_ASSIGN(const uint64_t size, natural(v, "size"));
    HEADRACE_ASSIGN(std::optional<Padding> padding, padding_of(v, inputs[0]->schema, verb));
    return Kind(Batch{size, v.is_true("drop_last"), v.is_true("ragged"), std::move(padding)});
  }
  if (verb == "cache") {
    Cache cache;
    const auto text = [&](std::string_view key) {
      return v.find(key) && v.find(key)->text() ? *v.find(key)->text() : "";
    };
    cache.path = text("path"), cache.version = text("version");
    if (v.find("max_memory")) {
      HEADRACE_ASSIGN(cache.max_memory, natural(v, "max_memory"));
    }
    return Kind(std::move(cache));
  }
  if (verb == "on_error") {
    HEADRACE_ASSIGN(const std::string policy, v.get_text("policy"));
    HEADRACE_ASSIGN(const size_t index, index_of(kPolicy, policy, "plan: on_error"));
    return Kind(OnError{static_cast<OnErrorPolicy>(index)});
  }
  if (verb == "repeat") {
    HEADRACE_ASSIGN(const uint64_t times, natural(v, "times"));
    return Kind(Repeat{times});
  }
  if (verb == "take" || verb == "skip") {
    HEADRACE_ASSIGN(const uint64_t count, natural(v, "count"));
    return verb == "take" ? Kind(Take{count}) : Kind(Skip{count});
  }
  return invalid("plan: no verb named '" + verb + "'");
}

// Adds the verb to messages about its members; messages about sources and operators name those already.
Status of_verb(const std::string& verb, const Status& status) {
  constexpr std::string_view kOfMember = "json: ";
  const std::string_view text = status.text();
  return text.starts_with(kOfMember)
             ? invalid("plan: " + verb + ": " + std::string(text.substr(kOfMember.size())))
             : status;
}

// `beside`: set for the side input of a verb.
Result<NodePtr> node_from(const Value& plan, Store& store, const Bindings& bindings,
                          std::optional<Beside> beside) {
  HEADRACE_ASSIGN(const std::string verb, plan.get_text("verb"));
  HEADRACE_TRY(check_verb_members(verb, plan));
  std::vector<NodePtr> inputs;
  if (const Value* input = plan.find("input")) {
    HEADRACE_ASSIGN(NodePtr node, node_from(*input, store, bindings, std::nullopt));
    inputs.push_back(std::move(node));
  }
  if (const Value* many = plan.find("inputs"); many && many->list())
    for (const Value& input : *many->list()) {
      const bool is_last = &input == &many->list()->back();
      HEADRACE_ASSIGN(NodePtr node,
                      node_from(input, store, bindings, is_last ? beside_of(verb) : std::nullopt));
      inputs.push_back(std::move(node));
    }
  auto kind = kind_from(verb, plan, inputs, store, bindings, beside);
  if (!kind.ok()) return of_verb(verb, kind.status());
  const Value* at = plan.find("at");
  return make_node(*std::move(kind), std::move(inputs), at && at->text() ? *at->text() : "");
}

}  // namespace

Value plan_to_value(const NodePtr& root) {
  Value out{Value::Object()};
  out.set("verb", kind_name(root->kind));
  std::visit(ToValue{out}, root->kind);
  if (!root->made_at.empty()) out.set("at", root->made_at);
  if (root->inputs.size() == 1) out.set("input", plan_to_value(root->input()));
  if (root->inputs.size() > 1) {
    Value::List inputs;
    for (const NodePtr& in : root->inputs) inputs.push_back(plan_to_value(in));
    out.set("inputs", std::move(inputs));
  }
  return out;
}

Result<NodePtr> plan_from_value(const Value& plan, Store& store, const Bindings& bindings) {
  return node_from(plan, store, bindings, std::nullopt);
}

Value program_to_value(const Program& program) {
  Value out{Value::Object()};
  out.set("inputs", list_of(program.input_fields));
  Value::List steps;
  for (const Call& step : program.steps) {
    Value s{Value::Object()};
    s.set("op", step.op->name());
    s.set("params", step.op->params());
    s.set("in", list_of(step.inputs));
    if (!step.op->bound().empty()) {
      Value::List bound;
      for (const std::string& name : step.op->bound()) bound.emplace_back(name);
      s.set("bound", std::move(bound));
    }
    steps.push_back(std::move(s));
  }
  out.set("steps", std::move(steps));
  Value::List names;
  for (const std::string& name : program.schema.names) names.emplace_back(name);
  out.set("outputs", list_of(program.outputs));
  out.set("names", std::move(names));
  out.set("structure", program.schema.structure);
  return out;
}

Result<Program> program_from_value(const Value& value, const Schema& incoming, const std::string& made_at,
                                   const Bindings& bindings) {
  constexpr std::string_view kMembers[] = {"inputs", "steps", "outputs", "names", "structure"};
  constexpr std::string_view kRequired[] = {"op", "in"}, kOptional[] = {"params", "bound"};
  HEADRACE_TRY(check_members(value, "a program", kMembers, {}));
  ProgramBuilder builder(incoming, made_at);
  HEADRACE_ASSIGN(const std::vector<int> fields, ints(value.find("inputs"), "inputs"));
  for (int f : fields) {
    if (f < kValidField || f >= static_cast<int>(incoming.size()))
      return invalid("plan: no field " + std::to_string(f) + " in " + incoming.text());
    builder.field(f);
  }
  const Value* steps = value.find("steps");
  if (!steps->list()) return invalid("plan: 'steps' of a program must be a list, got " + steps->dump());
  for (const Value& step : *steps->list()) {
    HEADRACE_ASSIGN(const std::string op, step.get_text("op"));
    HEADRACE_TRY(check_members(step, "the step " + op, kRequired, kOptional));
    HEADRACE_ASSIGN(std::vector<int> in, ints(step.find("in"), op + ".in"));
    const Value params = step.find("params") ? *step.find("params") : Value();
    if (const Value* slot = params.find("slot"); slot && slot->text() && !find_op(op)) {
      if (!bindings.function)
        return invalid("plan: the " + std::string(op == kCFunctionOp ? "C" : "Python") +
                       " function in slot '" + *slot->text() +
                       "' is not bound; open the plan in Python with bind={\"" + *slot->text() + "\": f}");
      HEADRACE_ASSIGN(OpPtr made, bindings.function(*slot->text(), params));
      if ((op == kCFunctionOp) != (made->name() == kCFunctionOp))
        return invalid(
            "plan: slot '" + *slot->text() + "': expected a " +
            (op == kCFunctionOp ? "C function, got a Python function" : "Python function, got a C function"));
      if (op == kCFunctionOp)
        HEADRACE_TRY(check_c_function(*made, params).before("plan: slot '" + *slot->text() + "': "));
      HEADRACE_TRY(builder.add_op(std::move(made), in).status());
      continue;
    }
    std::vector<std::pair<std::string, int>> bound;
    if (const Value* names = step.find("bound"); names && names->list()) {
      const size_t n = names->list()->size();
      if (n > in.size()) return invalid("plan: " + op + " binds more parameters than it has inputs");
      for (size_t i = 0; i < n; ++i) {
        if (!(*names->list())[i].text()) return invalid("plan: " + op + ".bound must contain names");
        bound.emplace_back(*(*names->list())[i].text(), in[in.size() - n + i]);
      }
      in.resize(in.size() - n);
    }
    HEADRACE_TRY(builder.add(op, params, in, bound).status());
  }
  HEADRACE_ASSIGN(std::vector<int> outputs, ints(value.find("outputs"), "outputs"));
  std::vector<std::string> names;
  if (const Value* list = value.find("names"); list && list->list())
    for (const Value& name : *list->list())
      if (name.text()) names.push_back(*name.text());
  if (names.size() != outputs.size()) return invalid("plan: a program must have as many names as outputs");
  HEADRACE_ASSIGN(const std::string structure, value.get_text("structure"));
  return builder.finish(std::move(names), std::move(outputs), structure);
}

}  // namespace headrace
