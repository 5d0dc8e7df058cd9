// A pipeline as JSON and back: written by save_plan, read by `headrace run`, hashed for the fingerprint.
//
// {"headrace": 1, "plan": {"verb": "batch", "size": 256, …, "input": {…}}, "options": {…}}. C++ and Python
// write the same text. What JSON cannot hold (Python functions, arrays) is a named slot; opening a plan
// binds the slots again or reports which one is missing.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "headrace/graph/node.h"
#include "headrace/graph/plan/bindings.h"
#include "headrace/io/store.h"

namespace headrace {

Value plan_to_value(const NodePtr& root);
Result<NodePtr> plan_from_value(const Value& plan, Store& store, const Bindings& bindings);

Value program_to_value(const Program& program);
Result<Program> program_from_value(const Value& value, const Schema& incoming, const std::string& made_at,
                                   const Bindings& bindings);

}  // namespace headrace
