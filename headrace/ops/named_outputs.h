// Operators whose outputs have names: {"label": …, "image": …} instead of a sequence of tensors. The operator
// numbers its outputs; how they nest is a structure as in Schema, which its parameters decide.
//
//   std::string ParseExample::structure() const;  // {"label":0,"image":1}
//   const NamesOutputs<ParseExample> names;       // next to its Registered
//
// The registry is filled before main() and only read afterwards.
#pragma once
#include <map>
#include <string>

#include "headrace/ops/registered.h"

namespace headrace {

using OutputStructure = Result<std::string> (*)(const Value& params);
std::map<std::string, OutputStructure, std::less<>>& named_outputs();  // by operator

template <class Op> struct NamesOutputs {
  NamesOutputs() {
    named_outputs().emplace(Op::name, [](const Value& params) -> Result<std::string> {
      HEADRACE_ASSIGN(const Op op, op_detail::parse<Op>(params));
      HEADRACE_TRY(op_detail::check(op));
      return op.structure();
    });
  }
};

}  // namespace headrace
