// Data that a plan names by a slot: the bound data, checked against the plan.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/arrays/arrays.h"
#include "headrace/graph/plan/plan_json.h"

namespace headrace {

// The role of the last input of a verb, when it is a side input of numbers.
std::optional<Beside> beside_of(std::string_view verb);

// A read of stored data in a plan, and the name that binds it to other paths: "read_0" is the first one,
// inputs before the verbs that use them.
struct PlanRead {
  std::string name;
  std::vector<std::string> paths;
};
// `text`: the whole plan with its "headrace" and "plan".
std::vector<PlanRead> reads_of(const Value& text);
std::string read_names(const std::vector<PlanRead>& reads);  // "'read_0' ('imagenet/train')"

// The node of a plan, with other paths for its reads. An error if it has no read of such a name.
Result<Value> with_paths(const Value& plan, const std::map<std::string, std::vector<std::string>>& paths);

// The data bound to the slot of a plan's "source". An error states what the slot expects and what was bound.
Result<SourcePtr> bound_source(const Value& described, const Bindings& bindings,
                               std::optional<Beside> beside);

}  // namespace headrace
