// What a saved plan names and does not hold.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/core/value.h"
#include "headrace/formats/generator.h"
#include "headrace/graph/epoch_order.h"
#include "headrace/graph/handles.h"
#include "headrace/graph/ranks.h"

namespace headrace {

// Values for the slots, by name, and what else depends on where a plan is loaded. Each member may be empty.
struct Bindings {
  std::map<std::string, SourcePtr> sources;  // arrays and sequences
  std::map<std::string, GeneratorPtr> generators;
  std::map<std::string, EpochOrderPtr> orders;
  // Python and C functions: the operator for a slot and its parameters.
  std::function<Result<OpPtr>(const std::string& slot, const Value& params)> function;
  // Other paths for reads, by name: "read_0" is the first of the plan. One path, or those of a list.
  std::map<std::string, std::vector<std::string>> paths;
  // The ranks of this process, for shards that ask; empty: ranks().
  std::function<Result<Ranks>()> ranks;
};

}  // namespace headrace
