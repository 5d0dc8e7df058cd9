#include "headrace/graph/explain/explain.h"

#include <algorithm>

#include "headrace/core/byte_size.h"
#include "headrace/core/text/text.h"
#include "headrace/graph/plan/plan_json.h"

namespace headrace {
namespace {

constexpr size_t kColumns = 100;

std::string count_text(const Node& node) {
  if (!node.size) return "length unknown until run";
  if (*node.size == 1) return "1 element";
  return *node.size == kInfinite ? "endless" : std::to_string(*node.size) + " elements";
}

std::string size_text(const Node& node, const ElementSizes& sizes) {
  const auto found = sizes.find(&node);
  if (found == sizes.end()) return ", size unknown until read";
  const ElementSize& size = found->second;
  if (size.looked_at == 0) return ", " + byte_size_text(size.bytes) + " each";
  return ", about " + byte_size_text(size.bytes) + " each (mean of " + std::to_string(size.looked_at) + ")";
}

// A long operator call, with line breaks between its parameters; `at` is the column of its first letter.
std::string broken(const std::string& call, size_t at, size_t indent) {
  std::string out;
  for (size_t begin = 0; begin < call.size();) {
    const size_t comma = call.find(", ", begin), end = comma == std::string::npos ? call.size() : comma + 2;
    if (begin > 0 && at + end - begin > kColumns) {
      while (out.ends_with(' ')) out.pop_back();
      out += "\n" + std::string(indent, ' '), at = indent;
    }
    out += call.substr(begin, end - begin), at += end - begin;
    begin = end;
  }
  return out;
}

// Items separated by commas, on as many lines as needed; lines after the first begin with `indent` spaces.
// `at`: the column where the first line begins.
std::string joined(const std::vector<std::string>& items, size_t at, size_t indent) {
  std::string out;
  size_t column = at;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ",", ++column;
    if (i > 0 && column + 2 + items[i].size() > kColumns) {
      out += "\n" + std::string(indent, ' '), column = indent;
    } else if (i > 0) {
      out += " ", ++column;
    }
    const std::string item =
        column + items[i].size() > kColumns ? broken(items[i], column, indent + 4) : items[i];
    const size_t line = item.rfind('\n');
    out += item, column = line == std::string::npos ? column + item.size() : item.size() - line - 1;
  }
  return out;
}

// Human-readable JSON, with a space after each comma and colon.
std::string spaced(const Value& value) {
  std::string out;
  bool in_text = false, is_escaped = false;
  for (const char c : value.dump()) {
    out += c;
    if (!in_text && (c == ',' || c == ':')) out += ' ';
    if (c == '"' && !is_escaped) in_text = !in_text;
    is_escaped = c == '\\' && !is_escaped;
  }
  return out;
}

// The same with NumPy's names of dtypes: ["f32", [3]] is ["float32", [3]], {"dtype": "f32"} {"dtype":
// "float32"}.
Value with_numpy_names(const Value& value) {
  if (const auto* object = value.object()) {
    Value out{Value::Object()};
    for (const auto& [key, item] : *object) {
      const auto dtype =
          key == "dtype" && item.text() ? parse_dtype(*item.text()) : Result<DType>(invalid(""));
      out.set(key, dtype.ok() ? Value(std::string(dtype_name(*dtype))) : with_numpy_names(item));
    }
    return out;
  }
  const Value::List* list = value.list();
  if (!list) return value;
  Value::List out;
  for (const Value& item : *list) out.push_back(with_numpy_names(item));
  if (list->size() == 2 && (*list)[0].text() && (*list)[1].list())
    if (const auto dtype = parse_dtype(*(*list)[0].text()); dtype.ok()) out[0] = dtype_name(*dtype);
  return Value(std::move(out));
}

// An operator with the parameters that differ from its defaults.
std::string call_text(const AnyOp& op) {
  const OpInfo* info = find_op(op.name());
  const auto param_of = [&](const std::string& name) -> const ParamInfo* {
    if (!info) return nullptr;
    const auto param = std::ranges::find(info->params, name, &ParamInfo::name);
    return param != info->params.end() ? &*param : nullptr;
  };
  std::string params;
  const Value given = op.params();
  if (const auto* object = given.object())
    for (const auto& [name, value] : *object) {
      const bool is_bound = std::ranges::find(op.bound(), name) != op.bound().end();
      const ParamInfo* const param = param_of(name);
      if (!is_bound && param && !param->required && param->fallback.dump() == value.dump()) continue;
      const Value shown = with_numpy_names(param ? shown_param(param->type, value) : value);
      params += (params.empty() ? "" : ", ") + name + "=" + (is_bound ? "<field>" : spaced(shown));
    }
  return std::string(op.name()) + "(" + params + ")";
}

std::vector<std::string> step_texts(const Program& program) {
  std::vector<std::string> out;
  for (const Call& step : program.steps) out.push_back(call_text(*step.op));
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const auto value = static_cast<size_t>(program.outputs[i]);
    if (value >= program.input_fields.size() || program.input_fields[value] >= 0) continue;
    out.push_back((program.input_fields[value] == kValidField ? "with_validity(" : "with_ids(") +
                  Value(program.schema.names[i]).dump() + ")");
  }
  if (out.empty()) out.push_back("select fields");
  return out;
}

std::string steps_text(const Program& program) {
  std::string out;
  for (const std::string& step : step_texts(program)) out += (out.empty() ? "" : ", ") + step;
  return out;
}

// The format or generator, with its options.
std::string source_text(const Value& description) {
  std::string name, more;
  // The schema is printed after the node; of data in a slot the description has it, too.
  const bool has_schema =
      description.find("names") && description.find("specs") && description.find("structure");
  if (const auto* object = description.object())
    for (const auto& [key, value] : *object) {
      if (has_schema && (key == "names" || key == "specs" || key == "structure")) continue;
      if ((key == "format" || key == "generator") && value.text())
        name = *value.text();
      else
        more += (more.empty() ? "" : ", ") + key + "=" + spaced(value);
    }
  return name + "(" + more + ")";
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
  size_t indent;

  std::string operator()(const Read& r) const { return source_text(r.source->describe()); }
  std::string operator()(const Generate& g) const { return source_text(g.generator->describe()); }
  std::string operator()(const TakeWhile& t) const { return steps_text(t.program); }
  std::string operator()(const Unique& u) const { return steps_text(u.program); }
  std::string operator()(const Scan& s) const {
    return steps_text(s.program) + ", state of " + std::to_string(s.initial.size());
  }
  std::string operator()(const Map& m) const {
    return joined(step_texts(m.program), indent + 5, indent + 5);  // after "map  "
  }
  std::string operator()(const Filter& f) const { return steps_text(f.predicate); }
  std::string operator()(const Unbatch&) const { return ""; }
  std::string operator()(const Shuffle& s) const {
    return "seed=" + std::to_string(s.seed) + (s.window ? ", window=" + std::to_string(s.window) : "") +
           (s.blocks ? ", blocks=" + std::to_string(s.blocks) : "");
  }
  std::string operator()(const Shard& s) const {
    const char* even = s.even == Even::wrap ? "wrap" : s.even == Even::drop ? "drop" : "pad";
    return "rank " + std::to_string(s.rank) + " of " + std::to_string(s.world) + ", even=" + even +
           (s.steps ? ", steps=" + std::to_string(*s.steps) : "");
  }
  std::string operator()(const Repeat& r) const { return r.times ? std::to_string(r.times) : "forever"; }
  std::string operator()(const Take& t) const { return std::to_string(t.count); }
  std::string operator()(const Skip& s) const { return std::to_string(s.count); }
  std::string operator()(const Concatenate&) const { return ""; }
  std::string operator()(const Interleave& i) const {
    return "cycle=" + std::to_string(i.cycle) + ", block=" + std::to_string(i.block);
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

void write(const Node& node, const ElementSizes* sizes, const std::string& indent,
           std::vector<std::string>& out) {
  for (size_t i = 0; i < node.inputs.size(); ++i)
    write(*node.inputs[i], sizes, indent + (node.inputs.size() > 1 ? "  " : ""), out);
  const std::string details = std::visit(Details{indent.size()}, node.kind);
  std::string text = indent + std::string(kind_name(node.kind)) + (details.empty() ? "" : "  " + details);
  std::vector<std::string> elements;
  for (size_t i = 0; i < node.schema.size(); ++i)
    elements.push_back(node.schema.names[i] + ": " + node.schema.specs[i].text());
  const std::string arrow = indent + "    -> {";
  text += "\n" + arrow + joined(elements, arrow.size(), arrow.size()) + "}, " + count_text(node);
  if (sizes) text += size_text(node, *sizes);
  if (!node.made_at.empty()) text += "    (" + node.made_at + ")";
  out.push_back(text + "\n");
}

// The same value without the members that only say how a user's function runs: "python", "num_parallel" and
// "pure" next to its "slot". The suffix of the slot after '#', which separates functions of different
// branches, is left out too: it is chosen when a plan is saved.
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
    else if ((key != "python" && key != "num_parallel" && key != "pure") || !value.find("slot"))
      out.set(key, without_place(item));
  }
  return out;
}

// The plan's identity: everything that determines bytes, and nothing else.
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
  if (const auto* read = node.as<Read>())
    out += read->source->fingerprint() + (read->is_narrowed ? " of " + node.schema.stable_text() : "") + "\n";
  if (const auto* generate = node.as<Generate>()) out += generate->generator->fingerprint() + "\n";
  for (const NodePtr& in : node.inputs) append_data(*in, out);
}

}  // namespace

std::string wrapped(const std::string& text, const std::string& indent) {
  std::string out, line = indent;
  for (size_t begin = 0; begin < text.size();) {
    const size_t space = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, space - begin);
    if (line.size() > indent.size() && line.size() + 1 + word.size() > kColumns)
      out += line + "\n", line = indent;
    line += (line.size() > indent.size() ? " " : "") + word;
    begin = space + 1;
  }
  return out + line + "\n";
}

std::vector<std::string> explain_nodes(const NodePtr& root, const ElementSizes* sizes) {
  std::vector<std::string> out;
  write(*root, sizes, "", out);
  return out;
}

std::string explain_tree(const NodePtr& root) {
  std::string out;
  for (const std::string& node : explain_nodes(root)) out += node;
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
