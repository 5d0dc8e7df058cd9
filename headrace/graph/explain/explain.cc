#include "headrace/graph/explain/explain.h"

#include <algorithm>

#include "headrace/core/byte_size.h"
#include "headrace/core/text/text.h"
#include "headrace/graph/details.h"
#include "headrace/graph/plan/plan_json.h"

namespace headrace {
namespace {

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

void write(const Node& node, const ElementSizes* sizes, const std::string& indent,
           std::vector<std::string>& out) {
  for (size_t i = 0; i < node.inputs.size(); ++i)
    write(*node.inputs[i], sizes, indent + (node.inputs.size() > 1 ? "  " : ""), out);
  const std::string details = std::visit(
      [&](const auto& verb) {
        if constexpr (requires { verb.details(size_t{0}); })
          return verb.details(indent.size());
        else
          return verb.details();
      },
      node.kind);
  std::string text = indent + std::string(kind_name(node.kind)) + (details.empty() ? "" : "  " + details);
  std::vector<std::string> elements;
  for (size_t i = 0; i < node.schema.size(); ++i)
    elements.push_back(printable(node.schema.names[i]) + ": " + node.schema.specs[i].text());
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
    if (shard->fixed) out.set("fixed", true);
    if (shard->contiguous) out.set("contiguous", true);
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
