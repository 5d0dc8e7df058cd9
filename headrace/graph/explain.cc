#include "headrace/core/text.h"
#include "headrace/graph/node.h"
#include "headrace/graph/plan_json.h"

namespace headrace {
namespace {

std::string size_text(const Node& node) {
  if (!node.size) return "length unknown until run";
  return *node.size == kInfinite ? "endless" : std::to_string(*node.size) + " elements";
}

std::string steps_text(const Program& program) {
  std::string out;
  for (const Call& step : program.steps) {
    if (!out.empty()) out += ", ";
    out += step.op->name();
    std::string params;
    const Value given = step.op->params();
    if (const auto* object = given.object())
      for (const auto& [name, value] : *object)
        params += (params.empty() ? "" : ", ") + name + "=" + value.dump();
    out += "(" + params + ")";
  }
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const auto value = static_cast<size_t>(program.outputs[i]);
    if (value >= program.input_fields.size() || program.input_fields[value] >= 0) continue;
    out += out.empty() ? "" : ", ";
    out += program.input_fields[value] == kValidField ? "with_validity" : "with_ids";
    out += "(" + Value(program.schema.names[i]).dump() + ")";
  }
  return out.empty() ? "choose fields" : out;
}

template <class T> std::string list_text(const std::vector<T>& numbers) {
  std::string out;
  for (const T n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return "[" + out + "]";
}

std::string rows_text(const Batch& batch) {
  std::string out;
  if (batch.padding) {
    std::string shapes;
    for (const Shape& shape : batch.padding->shapes) shapes += (shapes.empty() ? "" : ", ") + shape.text();
    out = ", padded to " + shapes;
  }
  return out + (batch.drop_last ? ", drop_last" : "") + (batch.ragged ? ", ragged" : "");
}

std::string stop_text(MixStop stop) { return ", stop=" + std::string(kStops[static_cast<size_t>(stop)]); }

std::string weights_text(const MixWeights& step, bool alone) {
  std::string out = alone ? "" : std::to_string(step.from) + ": ";
  for (const double& weight : step.weights)
    out += (&weight == step.weights.data() ? "[" : ", ") + Value(weight).dump();
  return out + "]";
}

struct Details {
  std::string operator()(const Read& r) const { return r.source->describe().dump(); }
  std::string operator()(const Generate& g) const { return g.generator->describe().dump(); }
  std::string operator()(const TakeWhile& t) const { return steps_text(t.program); }
  std::string operator()(const Unique& u) const { return steps_text(u.program); }
  std::string operator()(const Scan& s) const {
    return steps_text(s.program) + ", state of " + std::to_string(s.initial.size());
  }
  std::string operator()(const Map& m) const { return steps_text(m.program); }
  std::string operator()(const Filter& f) const { return steps_text(f.predicate); }
  std::string operator()(const Unbatch&) const { return ""; }
  std::string operator()(const Shuffle& s) const {
    return "seed=" + std::to_string(s.seed) + (s.window ? ", window=" + std::to_string(s.window) : "");
  }
  std::string operator()(const Shard& s) const {
    const char* even = s.even == Even::wrap ? "wrap" : s.even == Even::drop ? "drop" : "pad";
    return "rank " + std::to_string(s.rank) + " of " + std::to_string(s.world) + ", even=" + even +
           (s.steps ? ", steps=" + std::to_string(*s.steps) : "");
  }
  std::string operator()(const Repeat& r) const { return r.times ? std::to_string(r.times) : "for ever"; }
  std::string operator()(const Take& t) const { return std::to_string(t.count); }
  std::string operator()(const Skip& s) const { return std::to_string(s.count); }
  std::string operator()(const Concatenate&) const { return ""; }
  std::string operator()(const Interleave& i) const {
    return std::to_string(i.cycle) + " at a time, " + std::to_string(i.block) + " in turn";
  }
  std::string operator()(const Batch& b) const { return std::to_string(b.size) + rows_text(b); }
  std::string operator()(const GroupBy& g) const {
    std::string out = steps_text(g.program);
    if (g.by_length) out += ", boundaries " + list_text(g.boundaries);
    out += g.token_budget > 0 ? ", token_budget=" + std::to_string(g.token_budget)
                              : ", sizes " + list_text(g.sizes);
    return out + rows_text(g.batch) + (g.pad_to_boundary ? ", pad_to_boundary" : "");
  }
  std::string operator()(const Pack& p) const {
    constexpr std::string_view strategies[] = {"first_fit", "best_fit", "concat_and_split"};
    return std::string(strategies[static_cast<size_t>(p.strategy)]) + ", lengths " + list_text(p.lengths) +
           (p.strategy == PackStrategy::concat_and_split ? "" : ", bins=" + std::to_string(p.bins)) +
           (p.most > 0 ? ", max_sequences=" + std::to_string(p.most) : "") +
           (p.drop_last ? ", drop_last" : "");
  }
  std::string operator()(const Cache& c) const {
    return c.path.empty() ? "in memory" : "in " + in_quotes(c.path);
  }
  std::string operator()(const Zip& z) const {
    return z.structure + (z.ids ? ", ids of input " + std::to_string(z.ids) : "");
  }
  std::string operator()(const Mix& m) const {
    std::string out;
    for (const MixWeights& step : m.schedule)
      out += (out.empty() ? "" : ", ") + weights_text(step, m.schedule.size() == 1);
    return out + ", seed=" + std::to_string(m.seed) + stop_text(m.stop);
  }
  std::string operator()(const Choose& c) const { return stop_text(c.stop).substr(2); }
  std::string operator()(const Window& w) const {
    return std::to_string(w.size) + ", shift=" + std::to_string(w.shift) +
           ", stride=" + std::to_string(w.stride) + (w.drop_last ? ", drop_last" : "") +
           (w.ragged ? ", ragged" : "");
  }
  std::string operator()(const Draw& d) const {
    return std::string(d.replacement ? "with" : "without") + " replacement" +
           (d.count ? ", num=" + std::to_string(*d.count) : "") + ", seed=" + std::to_string(d.seed);
  }
  std::string operator()(const SortBy& s) const { return s.descending ? "descending" : ""; }
  std::string operator()(const OnError& e) const {
    return e.policy == OnErrorPolicy::skip      ? "skip"
           : e.policy == OnErrorPolicy::replace ? "replace"
                                                : "raise";
  }
};

void write(const Node& node, const std::string& indent, std::string& out) {
  for (size_t i = 0; i < node.inputs.size(); ++i)
    write(*node.inputs[i], indent + (node.inputs.size() > 1 ? "  " : ""), out);
  const std::string details = std::visit(Details{}, node.kind);
  out += indent + std::string(kind_name(node.kind)) + (details.empty() ? "" : "  " + details);
  out += "\n" + indent + "    -> {" + node.schema.text() + "}, " + size_text(node);
  if (!node.made_at.empty()) out += "    (" + node.made_at + ")";
  out += "\n";
}

// The same without where and how often at once a user's function runs: "python" and "num_parallel" of the
// parameters that name its slot. Of that what tells it from one of another branch, behind a #, is left out
// too: it is chosen when a plan is saved.
Value without_place(const Value& value) {
  if (const auto* list = value.list()) {
    Value::List out;
    for (const Value& item : *list) out.push_back(without_place(item));
    return out;
  }
  if (!value.object()) return value;
  Value out{Value::Object()};
  for (const auto& [key, item] : *value.object()) {
    if (key == "slot" && item.text())
      out.set(key, item.text()->substr(0, item.text()->find('#')));
    else if ((key != "python" && key != "num_parallel") || !value.find("slot"))
      out.set(key, without_place(item));
  }
  return out;
}

// The plan's identity: everything that decides bytes, and nothing that does not.
Value identity(const Node& node) {
  Value out{Value::Object()};
  if (node.as<Read>() || node.as<Generate>()) {
    out.set("verb", kind_name(node.kind));
    return out;
  }
  Node alone;
  alone.kind = node.kind;
  out = without_place(plan_to_value(std::make_shared<Node>(std::move(alone))));
  if (node.as<Cache>()) {
    out = Value(Value::Object());
    out.set("verb", "cache");
  }
  if (const auto* shard = node.as<Shard>()) {
    out = Value(Value::Object());
    out.set("verb", "shard");
    out.set("even", static_cast<int64_t>(shard->even));
  }
  Value::List inputs;
  for (const NodePtr& in : node.inputs) inputs.push_back(identity(*in));
  out.set("inputs", std::move(inputs));
  return out;
}

void append_data(const Node& node, std::string& out) {
  if (const auto* read = node.as<Read>()) out += read->source->fingerprint() + "\n";
  if (const auto* generate = node.as<Generate>()) out += generate->generator->fingerprint() + "\n";
  for (const NodePtr& in : node.inputs) append_data(*in, out);
}

}  // namespace

std::string explain_tree(const NodePtr& root) {
  std::string out;
  write(*root, "", out);
  return out;
}

std::string fingerprint(const NodePtr& root, uint64_t seed) {
  Value out{Value::Object()};
  out.set("seed", seed);
  out.set("plan", identity(*root));
  std::string data;
  append_data(*root, data);
  return hash_text(out.dump()).substr(0, 16) + "-" + hash_text(data).substr(0, 16);
}

}  // namespace headrace
