#include "headrace/graph/plan/plan_slots.h"

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

}  // namespace

std::optional<Beside> beside_of(std::string_view verb) {
  if (verb == "sort_by") return Beside::keys;
  if (verb == "sample") return Beside::weights;
  if (verb == "choose") return Beside::choices;
  if (verb == "select") return Beside::indices;
  return std::nullopt;
}

Result<SourcePtr> bound_source(const Value& described, const Bindings& bindings,
                               std::optional<Beside> beside) {
  HEADRACE_ASSIGN(const std::string slot, described.get_text("slot"));
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
