// Wraps graph/: programs, nodes and plans.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <numeric>

#include "headrace/core/random/permutation.h"
#include "headrace/core/random/split_lengths.h"
#include "headrace/core/text/text.h"
#include "headrace/graph/explain/notes.h"
#include "headrace/graph/file_order.h"
#include "headrace/graph/meaning.h"
#include "headrace/graph/passes/asked_ranks.h"
#include "headrace/graph/passes/order_of_files.h"
#include "headrace/graph/plan/plan_json.h"
#include "headrace/graph/plan/plan_slots.h"
#include "headrace/graph/plan/verb_json.h"
#include "headrace/graph/verbs/inference.h"
#include "headrace/graph/walk_nodes.h"
#include "headrace/headrace.h"
#include "python/src/arrays/tensors.h"
#include "python/src/base/errors.h"
#include "python/src/base/gil.h"
#include "python/src/base/module.h"
#include "python/src/base/text.h"
#include "python/src/base/value.h"
#include "python/src/base/watcher.h"
#include "python/src/epoch_order.h"
#include "python/src/functions/function.h"
#include "python/src/loader_options.h"

namespace headrace::python {
namespace {

std::vector<Tensor> tensors_of(const nb::list& leaves) {
  std::vector<Tensor> out;
  for (nb::handle leaf : leaves) {
    const Tensor shared = to_tensor(leaf);
    out.push_back(make_tensor(shared.view()));  // the user may write to the array later
  }
  return out;
}

// The builder of one trace. It takes plain values; symbols are handled in the Python package.
class Tracer {
 public:
  Tracer(const NodeHandle& node, const std::string& made_at) : builder_(node.node->schema, made_at) {
    for (size_t i = 0; i < node.node->schema.size(); ++i) builder_.field(static_cast<int>(i));
  }
  // For a scan: values are the leaves of the state, then the fields.
  Tracer(const NodeHandle& node, const std::string& made_at, const nb::list& state)
      : builder_(scan_schema(tensors_of(state), node.node->schema), made_at) {
    const size_t values = nb::len(state) + node.node->schema.size();
    for (size_t i = 0; i < values; ++i) builder_.field(static_cast<int>(i));
  }
  int engine_field(const std::string& name) {
    return builder_.field(name == "valid" ? kValidField : kIdField);
  }
  std::vector<int> add(const std::string& op, nb::handle params, const std::vector<int>& inputs,
                       const std::vector<std::pair<std::string, int>>& bound) {
    return unwrap(builder_.add(op, to_value(params), inputs, bound));
  }
  std::vector<int> add_function(const FunctionHandle& function, const std::vector<int>& inputs) {
    return unwrap(builder_.add_op(function.op, inputs));
  }
  nb::tuple spec(int value) const { return spec_to_python(builder_.spec(value)); }
  Program finish(std::vector<std::string> names, std::vector<int> outputs, const std::string& structure) {
    return unwrap(builder_.finish(std::move(names), std::move(outputs), structure));
  }

 private:
  ProgramBuilder builder_;
};

std::vector<TensorSpec> specs_of(const nb::list& specs) {
  std::vector<TensorSpec> out;
  for (nb::handle spec : specs) out.push_back(to_spec(spec));
  return out;
}

std::shared_ptr<Callee> callee_of(nb::object function, nb::object convert, const std::string& input,
                                  const std::string& output, std::vector<TensorSpec> outputs, bool random) {
  return {new Callee(std::move(function), std::move(convert), input, output, std::move(outputs), random),
          [](Callee* held) {
            const Gil gil;
            in_python([&] { delete held; });
          }};
}

FunctionHandle make_function(std::string slot, std::string label, std::string input, std::string output,
                             const nb::list& outputs, bool random, bool pure, int64_t num_parallel,
                             nb::object function, nb::object convert, nb::object start) {
  FunctionInfo info{.slot = std::move(slot),
                    .label = std::move(label),
                    .input = std::move(input),
                    .output = std::move(output),
                    .random = random,
                    .pure = pure,
                    .processes = !start.is_none(),
                    .num_parallel = num_parallel_from(num_parallel)};
  info.outputs = specs_of(outputs);
  auto runner = info.processes ? in_processes(std::move(start))
                               : in_threads(callee_of(std::move(function), std::move(convert), info.input,
                                                      info.output, info.outputs, random));
  if (info.num_parallel > 0) runner = bounded(std::move(runner), info.num_parallel);
  return {function_op(std::move(info), std::move(runner))};
}

// Runs in a process that was started by a map.
void serve(int socket, int memory, nb::object function, nb::object convert, const std::string& input,
           const std::string& output, const nb::list& outputs, bool random, const nb::object& describe) {
  serve_calls(socket, memory,
              *callee_of(std::move(function), std::move(convert), input, output, specs_of(outputs), random),
              describe);
}

std::vector<NodePtr> nodes_of(const std::vector<NodeHandle>& handles) {
  std::vector<NodePtr> out;
  for (const NodeHandle& handle : handles) out.push_back(handle.node);
  return out;
}

NodeHandle node_of(Kind kind, std::vector<NodePtr> inputs, const std::string& at) {
  return {unwrap(make_node(std::move(kind), std::move(inputs), at))};
}

// A verb of a plan from its members, as a plan has them; `program` where it has one.
NodeHandle verb(const std::string& name, const std::vector<NodeHandle>& inputs, const nb::dict& members,
                const std::string& at, const Program* program) {
  const Value given = to_value(members);
  const std::vector<NodePtr> nodes = nodes_of(inputs);
  check(check_members_of(name, given, "", program != nullptr));
  return node_of(unwrap(kind_from_members(name, given, {.inputs = nodes, .program = program})), nodes, at);
}

NodeHandle scan(const NodeHandle& in, Program program, const nb::list& initial,
                std::vector<std::string> names, const std::string& structure, const std::string& at) {
  const size_t states = nb::len(initial);
  for (size_t i = 0; i < names.size(); ++i) program.schema.names[states + i] = std::move(names[i]);
  return node_of(Scan{std::move(program), tensors_of(initial), structure}, {in.node}, at);
}

nb::list verb_list() {
  nb::list out;
  for (const VerbInfo& verb : verb_table()) {
    nb::list members;
    for (const MemberInfo& member : verb.members) {
      nb::dict item;
      item["name"] = std::string(member.name), item["type"] = member.type;
      item["doc"] = std::string(member.doc), item["required"] = member.required;
      item["unless"] = std::string(member.unless);
      members.append(item);
    }
    nb::dict item;
    item["name"] = std::string(verb.name), item["doc"] = std::string(verb.doc), item["members"] = members;
    out.append(item);
  }
  return out;
}

// The same data in storage order: for looking at one sample without the cost of order, epochs and ranks.
NodePtr without_order(const NodePtr& node, bool keep_on_error) {
  std::vector<NodePtr> inputs;
  for (const NodePtr& input : node->inputs) inputs.push_back(without_order(input, keep_on_error));
  if (facts_of(*node).moves_indices || (node->as<OnError>() && !keep_on_error)) return inputs[0];
  if (inputs.empty()) return node;
  NodePtr made = with_inputs(*node, std::move(inputs));
  return made ? made : node;
}

// With random access, a broken sample does not affect others; a stream would end at the first one, so it
// keeps on_error.
NodePtr without_order(const NodePtr& node) {
  NodePtr made = without_order(node, false);
  return made->indexed ? made : without_order(node, true);
}

// Whether elements or their order differ between epochs.
bool varies_by_epoch(const Node& node) {
  return find_node(node, [](const Node& one) {
    const Program* program = program_of(one.kind);
    const auto call_varies = [](const Call& call) { return headrace::varies_by_epoch(call); };
    return facts_of(one).reorders || (program && std::ranges::any_of(program->steps, call_varies));
  });
}

std::vector<NodeHandle> aligned(const std::vector<NodeHandle>& inputs, const std::string& at) {
  std::vector<NodeHandle> out;
  for (NodePtr& node : unwrap(align_labels(nodes_of(inputs), at))) out.push_back({std::move(node)});
  return out;
}

std::string plan_text(const NodeHandle& node, uint64_t seed) {
  return unwrap(Dataset(Result<NodePtr>(node.node)).plan(seed));
}

// `sources`: slot to Source; `generators`: slot to Generator; `orders`: slot to EpochOrder; `function(slot,
// params)` returns a Function or raises; `paths`: name of a read to its paths; `ask()` returns rank and
// world.
std::pair<NodeHandle, uint64_t> load(const std::string& json, const nb::dict& sources,
                                     const nb::dict& generators, const nb::dict& orders, nb::object function,
                                     const nb::dict& paths, nb::object ask) {
  Bindings bindings;
  for (const auto& [slot, source] : sources)
    bindings.sources.emplace(nb::cast<std::string>(slot), nb::cast<const SourceHandle&>(source).source);
  for (const auto& [slot, generator] : generators)
    bindings.generators.emplace(nb::cast<std::string>(slot),
                                nb::cast<const GeneratorHandle&>(generator).generator);
  for (const auto& [slot, order] : orders)
    bindings.orders.emplace(nb::cast<std::string>(slot), nb::cast<const EpochOrderHandle&>(order).order);
  bindings.function = [&](const std::string& slot, const Value& params) -> Result<OpPtr> {
    return nb::cast<const FunctionHandle&>(function(slot, to_python(params))).op;
  };
  for (const auto& [name, given] : paths)
    bindings.paths.emplace(nb::cast<std::string>(name), nb::cast<std::vector<std::string>>(given));
  bindings.ranks = [&]() -> Result<Ranks> {
    const auto [rank, world] = nb::cast<std::pair<uint32_t, uint32_t>>(ask());
    return Ranks{.rank = rank, .world = world};
  };
  LoadedPlan plan = unwrap(load_plan(json, bindings));
  return {NodeHandle{unwrap(plan.dataset.node())}, plan.seed};
}

nb::tuple ranks_of(const nb::object& get) {
  const Environment given = [&](const char* name) -> std::optional<std::string> {
    const nb::object value = get(name);
    return value.is_none() ? std::nullopt : std::optional(nb::cast<std::string>(nb::str(value)));
  };
  const Ranks found = unwrap(get.is_none() ? ranks() : ranks(given));
  return nb::make_tuple(found.rank, found.world, found.launcher, found.why, found.warning);
}

nb::dict describe(const NodeHandle& handle) {
  const Node& node = *handle.node;
  nb::dict out;
  out["verb"] = std::string(kind_name(node.kind));
  if (const auto* batch = node.as<Batch>()) out["size"] = batch->size, out["drop_last"] = batch->drop_last;
  if (const auto* shard = node.as<Shard>()) out["rank"] = shard->rank, out["world"] = shard->world;
  return out;
}

// Its order, the parts of the list, and where these were; or None.
using Apart = std::tuple<NodeHandle, std::vector<NodeHandle>, std::vector<std::vector<size_t>>>;
std::optional<Apart> taken_apart(const NodeHandle& files) {
  auto apart = unwrap(order_of_files(files.node));
  if (!apart) return std::nullopt;
  std::vector<NodeHandle> parts;
  for (NodePtr& part : apart->files) parts.push_back({std::move(part)});
  return Apart(NodeHandle{std::move(apart->order)}, std::move(parts), std::move(apart->places));
}

void bind_node(nb::module_& m) {
  nb::class_<NodeHandle>(m, "Node", "An immutable tree of verbs over sources.")
      .def_prop_ro(
          "schema", [](const NodeHandle& n) { return schema_to_python(n.node->schema); },
          "Names, specs and structure of the elements.")
      .def_prop_ro(
          "size", [](const NodeHandle& n) { return n.node->size == kInfinite ? std::nullopt : n.node->size; },
          "Elements of an epoch on this rank; None if infinite or not known.")
      .def(
          "size_in_epoch",
          [](const NodeHandle& n, uint64_t epoch) -> std::optional<uint64_t> {
            const auto size = size_in_epoch(n.node, epoch);
            return size == kInfinite ? std::nullopt : size;
          },
          nb::arg("epoch"), "Those of one epoch, which may be known where epochs differ in it.")
      .def_prop_ro(
          "endless", [](const NodeHandle& n) { return n.node->size == kInfinite; }, "Whether it never ends.")
      .def_prop_ro(
          "indexed", [](const NodeHandle& n) { return n.node->indexed; }, "Whether it has random access.")
      .def_prop_ro(
          "sharded", [](const NodeHandle& n) { return n.node->sharded; }, "Whether it contains a shard.")
      .def_prop_ro(
          "asks_ranks", [](const NodeHandle& n) { return asks_ranks(*n.node); },
          "Whether a shard takes its ranks from where the plan runs.")
      .def(
          "with_ranks",
          [](const NodeHandle& n, uint32_t rank, uint32_t world) {
            return NodeHandle{unwrap(with_ranks(n.node, {.rank = rank, .world = world}))};
          },
          nb::arg("rank"), nb::arg("world"), "The plan of a process with these ranks.")
      .def_prop_ro(
          "inputs",
          [](const NodeHandle& n) {
            std::vector<NodeHandle> out;
            for (const NodePtr& input : n.node->inputs) out.push_back({input});
            return out;
          },
          "The nodes below.")
      .def_prop_ro(
          "varies_by_epoch", [](const NodeHandle& n) { return varies_by_epoch(*n.node); },
          "Whether order or random draws differ between epochs.")
      .def(
          "metadata", [](const NodeHandle& n) { return to_python(metadata_of(*n.node)); },
          "The metadata of its read, or what holds for all datasets that are joined.")
      .def_prop_ro(
          "meaning_notes", [](const NodeHandle& n) { return notes_on_meanings(*n.node); },
          "Warnings about what numbers mean in datasets that this node joins.")
      .def_prop_ro(
          "data_notes", [](const NodeHandle& n) { return data_notes(*n.node); },
          "Warnings about the data from opening it.")
      .def("describe", &describe, "The verb, and the parameters that loaders show.")
      .def(
          "tree", [](const NodeHandle& n) { return explain_tree(n.node); },
          "One line per node, deepest first.")
      .def(
          "without_order", [](const NodeHandle& n) { return NodeHandle{without_order(n.node)}; },
          "The same elements without shuffle, shard, repeat, take, skip, sample and sort_by; with random "
          "access, "
          "also without on_error.")
      .def("order_of_files", &taken_apart,
           "What interleave(f) of the elements needs: order verbs over the numbers of a list, the parts of "
           "the "
           "list, and the inputs that lead to each; None where the order never changes.")
      .def("plan", &plan_text, nb::arg("seed"), "The plan as JSON.")
      .def(
          "fingerprint", [](const NodeHandle& n, uint64_t seed) { return fingerprint(n.node, seed); },
          nb::arg("seed"), "Must be equal for a state to be loaded.", nb::call_guard<NoGil>());
}

void bind_verbs(nb::module_& m) {
  const auto in = nb::arg("node");
  const auto at = nb::arg("at");
  m.def(
      "read", [](const SourceHandle& s, const std::string& at) { return node_of(Read{s.source}, {}, at); },
      nb::arg("source"), at);
  m.def("verb", &verb, nb::arg("name"), nb::arg("inputs"), nb::arg("members"), at,
        nb::arg("program").none() = nb::none(),
        "A verb over its inputs, with the members that a plan has (docs/plans.md).");
  m.def("verb_table", &verb_list, "The verbs of plans and their members, as described in the C++ sources.");
  m.def("align_labels", &aligned, nb::arg("inputs"), at, "The datasets with one list of classes.");
  m.def("scan", &scan, in, nb::arg("program"), nb::arg("initial"), nb::arg("names"), nb::arg("structure"), at,
        "`names` and `structure` describe the new elements.");
  m.def(
      "from_generator",
      [](const GeneratorHandle& g, const std::string& at) { return node_of(Generate{g.generator}, {}, at); },
      nb::arg("generator"), at);
  m.def(
      "reorder",
      [](const NodeHandle& n, const EpochOrderHandle& order, const std::string& at) {
        return node_of(Reorder{order.order}, {n.node}, at);
      },
      in, nb::arg("order"), at);
  m.def(
      "with_engine_field",
      [](const NodeHandle& n, const std::string& field, const std::string& name, const std::string& at) {
        const int which = field == "valid" ? kValidField : kIdField;
        return node_of(Map{unwrap(add_engine_field(n.node, which, name))}, {n.node}, at);
      },
      in, nb::arg("field"), nb::arg("name"), at,
      "All fields, and one provided by the engine: 'id' or 'valid'.");
}

}  // namespace

void bind_graph(nb::module_& m) {
  nb::class_<EpochOrderHandle>(m, "EpochOrder", "An order of the user's own.");
  m.def(
      "epoch_order",
      [](uint64_t size, std::string slot, uint64_t seed, std::string label, nb::object positions) {
        return EpochOrderHandle{
            make_epoch_order(size, std::move(slot), seed, std::move(label), std::move(positions))};
      },
      nb::arg("size"), nb::arg("slot"), nb::arg("seed"), nb::arg("label"), nb::arg("positions"),
      "An order whose positions(epoch) are bytes: int64 each.");
  nb::class_<FunctionHandle>(m, "Function", "A Python or C function as an operator.");
  m.def(
      "make_function", &make_function, nb::arg("slot"), nb::arg("label"), nb::arg("input"), nb::arg("output"),
      nb::arg("outputs"), nb::arg("random"), nb::arg("pure"), nb::arg("num_parallel"), nb::arg("function"),
      nb::arg("convert"), nb::arg("start").none(),
      "An operator from a function of a sample; convert(result) returns the leaves of an unusual result. "
      "With "
      "start, it runs in processes started by start(). At most num_parallel concurrent calls; 0: as many as "
      "there are workers.");
  m.def("serve", &serve, nb::arg("socket"), nb::arg("memory"), nb::arg("function"), nb::arg("convert"),
        nb::arg("input"), nb::arg("output"), nb::arg("outputs"), nb::arg("random"), nb::arg("describe"),
        "Answer calls of such a function until the socket closes.");
  m.def("call_once", &call_once, nb::arg("call"), nb::arg("leaves"), nb::arg("key"),
        "Call such a function outside any run, to see what it returns.");
  nb::class_<Program>(m, "Program", "A map or filter as operator calls over numbered values.")
      .def("json", [](const Program& p) { return program_to_value(p).dump(); }, "As in a saved plan.");
  nb::class_<Tracer>(m, "Tracer", "Builds a Program; values 0 to n - 1 are the fields.")
      .def(nb::init<const NodeHandle&, const std::string&>(), nb::arg("node"), nb::arg("made_at"))
      .def(nb::init<const NodeHandle&, const std::string&, const nb::list&>(), nb::arg("node"),
           nb::arg("made_at"), nb::arg("state"), "Values are the leaves of a state, then the fields.")
      .def("engine_field", &Tracer::engine_field, nb::arg("name"))
      .def("add", &Tracer::add, nb::arg("op"), nb::arg("params"), nb::arg("inputs"), nb::arg("bound"))
      .def("add_function", &Tracer::add_function, nb::arg("function"), nb::arg("inputs"))
      .def("spec", &Tracer::spec, nb::arg("value"))
      .def("finish", &Tracer::finish, nb::arg("names"), nb::arg("outputs"), nb::arg("structure"));
  bind_node(m);
  bind_verbs(m);
  m.def(
      "parse_json", [](const std::string& text) { return to_python(unwrap(Value::parse(text))); },
      nb::arg("text"), "JSON as plain objects, nested at most 128 levels deep.");
  m.def(
      "printable", [](const std::string& name) { return printable(name); }, nb::arg("name"),
      "A name with its control characters escaped, as in messages.");
  m.def(
      "fixed_total",
      [](const NodeHandle& n, const std::string& verb, const std::string& what) {
        return unwrap(fixed_total(*n.node, verb, what));
      },
      nb::arg("node"), nb::arg("verb"), nb::arg("what"),
      "The number of elements over all ranks, if their order is the same in every epoch.");
  m.def(
      "split_lengths",
      [](const std::string& verb, const std::vector<double>& lengths, uint64_t total) {
        auto counts = split_lengths(lengths, total);
        if (!counts.ok()) raise(counts.status().in_op(verb));
        return *counts;
      },
      nb::arg("verb"), nb::arg("lengths"), nb::arg("total"), "The sizes of the parts of a split.");
  m.def(
      "count",
      [](const NodeHandle& n, const nb::dict& options) {
        Watcher watcher{nb::none()};
        LoaderOptions given = loader_options(options);
        const Result<uint64_t> found = [&] {
          const NoGil nogil;
          return count(Dataset(Result<NodePtr>(n.node)), std::move(given),
                       [&] { return watcher.watch([] { return nb::make_tuple(); }); });
        }();
        watcher.rethrow();
        return unwrap(found);
      },
      nb::arg("node"), nb::arg("options"), "Elements of epoch 0.");
  m.def(
      "permuted",
      [](uint64_t seed, uint64_t total) {
        std::vector<uint64_t> out(total);
        std::iota(out.begin(), out.end(), uint64_t{0});
        Permutation(seed, 0, total).apply(out);
        return nb::bytes(out.data(), out.size() * sizeof(uint64_t));
      },
      nb::arg("seed"), nb::arg("total"),
      "0 to total - 1 in the order of epoch 0 of a shuffle, 8 bytes each.");
  m.def(
      "ranks", &ranks_of, nb::arg("get").none(),
      "Rank, world, launcher, why and a warning or '', by variables that get(name) returns, None where they "
      "are not set; without it, by those of the process.");
  m.def(
      "with_replicas",
      [](uint32_t rank, uint32_t world, uint32_t replicate) {
        const Ranks shared = unwrap(with_replicas({.rank = rank, .world = world}, replicate));
        return std::pair(shared.rank, shared.world);
      },
      nb::arg("rank"), nb::arg("world"), nb::arg("replicate"),
      "Rank and world where `replicate` consecutive ranks share their data.");
  m.def("load_plan", &load, nb::arg("json"), nb::arg("sources"), nb::arg("generators"), nb::arg("orders"),
        nb::arg("function"), nb::arg("paths"), nb::arg("ask"),
        "A plan and its seed; function(slot, params) returns a Function, ask() rank and world.");
  m.def(
      "plan_reads",
      [](const std::string& json) {
        std::vector<std::pair<std::string, std::vector<std::string>>> out;
        const Value plan = unwrap(Value::parse(json));
        for (PlanRead& read : reads_of(plan)) out.emplace_back(std::move(read.name), std::move(read.paths));
        return out;
      },
      nb::arg("json"), "The reads of a plan, in its order: the name that binds each, and its paths.");
}

}  // namespace headrace::python
