// What a saved plan names and does not hold.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "headrace/core/status.h"
#include "headrace/core/value.h"
#include "headrace/formats/generator.h"
#include "headrace/graph/handles.h"

namespace headrace {

// Values for the slots, by name. Each member may be empty.
struct Bindings {
  std::map<std::string, SourcePtr> sources;  // arrays and sequences
  std::map<std::string, GeneratorPtr> generators;
  // Python and C functions: the operator for a slot and its parameters.
  std::function<Result<OpPtr>(const std::string& slot, const Value& params)> function;
};

}  // namespace headrace
