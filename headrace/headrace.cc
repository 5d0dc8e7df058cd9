#include "headrace/headrace.h"

#include "headrace/formats/arrays/arrays.h"
#include "headrace/formats/open.h"

namespace headrace {
namespace {

constexpr int64_t kPlanVersion = 1;

Value object_of(Params params) {
  Value out{Value::Object()};
  for (const auto& [name, value] : params) out.set(name, value);
  return out;
}

// Symbols carry no Status; what failed first is kept here until the trace ends. One trace runs on one thread.
thread_local Status trace_failure;

int fail(Status status) {
  if (trace_failure.ok()) trace_failure = std::move(status);
  return -1;
}

template <class F> Result<Program> trace(const NodePtr& node, std::string_view verb, F&& f) {
  ProgramBuilder builder(node->schema, std::string(verb));
  // All fields first, in order: values keep their numbers while the program grows.
  for (size_t i = 0; i < node->schema.size(); ++i) builder.field(static_cast<int>(i));
  trace_failure = {};
  const Outputs outputs = f(Fields(&builder));
  if (!trace_failure.ok()) return std::exchange(trace_failure, {}).before(std::string(verb) + ": ");
  std::vector<std::string> names;
  std::vector<int> values;
  for (const auto& [name, symbol] : outputs) names.push_back(name), values.push_back(symbol.value());
  return builder.finish(std::move(names), std::move(values));
}

}  // namespace

std::vector<Symbol> apply(std::string_view op, std::vector<Symbol> inputs, Params params) {
  std::vector<int> values;
  for (const Symbol& s : inputs) values.push_back(s.value());
  const size_t expected = inputs.size();
  ProgramBuilder* builder = inputs.empty() ? nullptr : inputs[0].builder();
  std::vector<Symbol> out;
  if (builder && trace_failure.ok()) {
    auto made = builder->add(op, object_of(params), values);
    if (!made.ok())
      fail(made.status());
    else
      for (int v : *made) out.emplace_back(builder, v);
  }
  while (out.size() < expected)
    out.emplace_back(builder, -1);  // after a failure the trace goes on, to its end
  return out;
}

Symbol Symbol::apply(std::string_view op, Params params) const {
  return headrace::apply(op, {*this}, params)[0];
}

Symbol Fields::operator[](std::string_view name) const {
  auto value = builder_->field(name);
  return {builder_, value.ok() ? *value : fail(value.status())};
}

Dataset Dataset::then(Kind kind) const {
  if (!node_.ok()) return *this;
  return Dataset(make_node(std::move(kind), {*node_}));
}

Dataset Dataset::map(const Mapping& f) const {
  if (!node_.ok()) return *this;
  auto program = trace(*node_, "map", f);
  return program.ok() ? then(Map{*program}) : Dataset(program.status());
}

Dataset Dataset::filter(const std::function<Symbol(const Fields&)>& f) const {
  if (!node_.ok()) return *this;
  auto program = trace(*node_, "filter", [&](const Fields& s) { return Outputs{{"keep", f(s)}}; });
  return program.ok() ? then(Filter{*program}) : Dataset(program.status());
}

Dataset Dataset::with_ids(std::string_view field) const {
  if (!node_.ok()) return *this;
  auto program = add_engine_field(*node_, kIdField, field);
  return program.ok() ? then(Map{*program}) : Dataset(program.status());
}

Dataset Dataset::with_validity(std::string_view field) const {
  if (!node_.ok()) return *this;
  auto program = add_engine_field(*node_, kValidField, field);
  return program.ok() ? then(Map{*program}) : Dataset(program.status());
}

Dataset Dataset::concatenate(const Dataset& other) const {
  if (!node_.ok()) return *this;
  if (!other.node_.ok()) return other;
  return Dataset(make_node(Concatenate{}, {*node_, *other.node_}));
}

Result<std::unique_ptr<Loader>> Dataset::loader(LoaderOptions options) const {
  if (!node_.ok()) return node_.status();
  return Loader::make(*node_, std::move(options), file_store());
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

Dataset from_source(SourcePtr source) { return Dataset(make_node(Read{std::move(source)}, {})); }
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
  auto parsed = Value::parse(json);
  if (!parsed.ok()) return parsed.status().before("plan: wants what save_plan() wrote, got no JSON: ");
  const Value text = *std::move(parsed);
  if (!text.find("headrace"))
    return invalid(text.find("fingerprint")
                       ? "plan: wants what save_plan() wrote, got the state of an iteration; "
                         "load_state_dict() and `headrace run --state` take it"
                       : "plan: wants what save_plan() wrote, got JSON without 'headrace'");
  HEADRACE_ASSIGN(const int64_t version, text.get_integer("headrace"));
  if (version != kPlanVersion) return invalid("plan: wants version 1, got " + std::to_string(version));
  const Value* plan = text.find("plan");
  if (!plan) return invalid("plan: has no 'plan'");
  HEADRACE_ASSIGN(NodePtr node, plan_from_value(*plan, *file_store(), bindings));
  const Value* seed = text.find("seed");
  return LoadedPlan{Dataset(std::move(node)),
                    seed && seed->integer() ? static_cast<uint64_t>(*seed->integer()) : 0};
}

}  // namespace headrace
