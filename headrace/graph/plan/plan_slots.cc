#include "headrace/graph/plan/plan_slots.h"

#include <algorithm>

#include "headrace/core/text/text.h"
#include "headrace/formats/described.h"

namespace headrace {
namespace {

bool is_bare(const Schema& schema) { return schema.size() == 1 && schema.structure == "0"; }

// Instructions to bind a slot, in Python and on the command line.
std::string how_to_bind(const std::string& slot, const std::optional<Schema>& wanted) {
  std::string data = "…", arguments = "--bind " + slot + "=FILE";
  if (wanted && !is_bare(*wanted)) {
    data.clear(), arguments.clear();
    for (const std::string& name : wanted->names) {
      data += (data.empty() ? "{\"" : ", \"") + name + "\": …";
      arguments += (arguments.empty() ? "" : " ") + ("--bind " + slot + "/" + name + "=FILE");
    }
    data += "}";
  }
  return "pass bind={\"" + slot + "\": " + data + "}, or " + arguments + " on the command line";
}

// Calls f(node, ordinal) for each read of stored data, and returns the node with what f made of these.
template <class F> Value each_read(const Value& node, size_t& count, const F& f) {
  if (!node.object()) return node;
  Value out = node;
  if (const Value* input = node.find("input")) out.set("input", each_read(*input, count, f));
  if (const Value* inputs = node.find("inputs"); inputs && inputs->list()) {
    Value::List list;
    for (const Value& input : *inputs->list()) list.push_back(each_read(input, count, f));
    out.set("inputs", std::move(list));
  }
  const Value* source = node.find("source");
  if (source && source->object() && source->find("path") && !source->find("slot"))
    out.set("source", f(*source, count++));
  return out;
}

std::string name_of_read(size_t ordinal) { return "read_" + std::to_string(ordinal); }

std::vector<PlanRead> reads_below(const Value& plan) {
  std::vector<PlanRead> out;
  size_t count = 0;
  each_read(plan, count, [&](const Value& source, size_t ordinal) {
    PlanRead& read = out.emplace_back(name_of_read(ordinal));
    const Value& path = *source.find("path");
    if (path.text()) read.paths.push_back(*path.text());
    if (path.list())
      for (const Value& one : *path.list())
        if (one.text()) read.paths.push_back(*one.text());
    return source;
  });
  return out;
}

}  // namespace

std::vector<PlanRead> reads_of(const Value& text) {
  const Value* const plan = text.find("plan");
  return plan ? reads_below(*plan) : std::vector<PlanRead>();
}

std::string read_names(const std::vector<PlanRead>& reads) {
  std::string out;
  for (const PlanRead& read : reads) {
    out += (out.empty() ? "" : ", ") + in_quotes(read.name);
    if (read.paths.empty()) continue;
    out += " (" + in_quotes(read.paths[0]);
    out += read.paths.size() > 1 ? " and " + std::to_string(read.paths.size() - 1) + " more)" : ")";
  }
  return out.empty() ? "none" : out;
}

Result<Value> with_paths(const Value& plan, const std::map<std::string, std::vector<std::string>>& paths) {
  if (paths.empty()) return plan;
  const std::vector<PlanRead> reads = reads_below(plan);
  for (const auto& [name, given] : paths) {
    if (std::ranges::find(reads, name, &PlanRead::name) == reads.end())
      return invalid({.expected = "the name of a read of the plan",
                      .got = in_quotes(name),
                      .fix = "its reads are " + read_names(reads)})
          .in_op("plan");
    if (given.empty())
      return invalid({.expected = "at least one path for " + in_quotes(name), .got = "none"}).in_op("plan");
  }
  size_t count = 0;
  return each_read(plan, count, [&](const Value& source, size_t ordinal) {
    const auto it = paths.find(name_of_read(ordinal));
    if (it == paths.end()) return source;
    Value out = source;
    Value::List list;
    for (const std::string& path : it->second) list.emplace_back(path);
    out.set("path", list.size() == 1 ? list[0] : Value(std::move(list)));
    return out;
  });
}

std::optional<Beside> beside_of(std::string_view verb) {
  if (verb == "sort_by") return Beside::keys;
  if (verb == "sample") return Beside::weights;
  if (verb == "choose") return Beside::choices;
  if (verb == "select") return Beside::indices;
  return std::nullopt;
}

Result<SourcePtr> bound_source(const Value& described, const Bindings& bindings,
                               std::optional<Beside> beside) {
  const auto named = described.get_text("slot");
  if (!named.ok()) return named.status().before("source: ").in_op("plan");
  const std::string& slot = *named;
  HEADRACE_ASSIGN(const std::optional<Schema> wanted, described_schema(described));
  const auto it = bindings.sources.find(slot);
  if (it == bindings.sources.end())
    return invalid("the data in slot '" + slot + "' is not bound" +
                   (wanted ? "; expected " + fields_text(*wanted) + " per row" : "") + "; " +
                   how_to_bind(slot, wanted))
        .in_op("plan");
  SourcePtr source = it->second;
  const std::string which = "plan: the data in slot '" + slot + "': ";
  if (beside) {
    auto numbers = numbers_beside(*beside, source);
    if (!numbers.ok()) return numbers.status().before(which);
    source = *std::move(numbers);
  }
  if (!wanted) return source;
  auto fitting = fit_columns(source, *wanted);
  if (!fitting.ok())
    return invalid(which + std::string(fitting.status().text()) + "; " + how_to_bind(slot, wanted));
  return fitting;
}

}  // namespace headrace
