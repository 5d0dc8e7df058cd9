// A pipeline as JSON and back: what save_plan writes, `headrace run` reads, and the fingerprint is made of.
//
// {"headrace": 1, "plan": {"verb": "batch", "size": 256, …, "input": {…}}, "options": {…}}. The same text
// comes from C++ and Python. What is not data (Python functions, arrays) is a named slot; opening a plan
// binds it again or says which is missing.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "headrace/graph/node.h"
#include "headrace/io/store.h"

namespace headrace {

// How to make what JSON cannot hold, by slot name. Either may be empty.
struct Bindings {
  std::map<std::string, SourcePtr> sources;  // arrays and sequences
  std::map<std::string, GeneratorPtr> generators;
  // Python functions: op from slot name and the schema that reaches it.
  std::function<Result<OpPtr>(const std::string& slot, const Value& params)> function;
};

Value plan_to_value(const NodePtr& root);
Result<NodePtr> plan_from_value(const Value& plan, Store& store, const Bindings& bindings);

Value program_to_value(const Program& program);
Result<Program> program_from_value(const Value& value, const Schema& incoming, const std::string& made_at,
                                   const Bindings& bindings);

}  // namespace headrace
