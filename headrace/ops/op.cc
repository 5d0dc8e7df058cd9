#include "headrace/ops/op.h"

#include <algorithm>
#include <vector>

#include "headrace/core/text/closest.h"
#include "headrace/ops/geometry.h"

namespace headrace {

OpRegistry& op_registry_for_registration() {
  static OpRegistry registry;
  return registry;
}

const OpRegistry& ops() { return op_registry_for_registration(); }

const OpInfo* find_op(std::string_view name) {
  const auto it = ops().find(name);
  return it == ops().end() ? nullptr : &it->second;
}

std::string suggest_op(std::string_view wrong) {
  std::vector<std::string_view> names;
  for (const auto& [name, info] : ops()) names.push_back(name);
  return did_you_mean(wrong, names);
}

Result<Box> AnyOp::reads(const Shape&, const Key&) const {
  return internal_error(std::string(name()) + ": has no reads()");
}

Status AnyOp::run_part(std::span<const View> in, const Box&, std::span<const MutView> out,
                       CallContext& call) const {
  return run(in, out, call);
}

Result<Geometry> AnyOp::place(const Geometry&, std::span<const View>, const Key&) const {
  return internal_error(std::string(name()) + ": has no place()");
}

Value shown_param(std::string_view type, const Value& value) {
  if (!type.starts_with("DTypeLike") || !value.text()) return value;
  const auto dtype = parse_dtype(*value.text());
  return dtype.ok() ? Value(std::string(dtype_name(*dtype))) : value;
}

Result<OpPtr> make_op(std::string_view name, const Value& params, std::span<const std::string> bound) {
  const OpInfo* info = find_op(name);
  if (!info) return invalid("no operator named '" + std::string(name) + "'" + suggest_op(name));
  if (!info->make) return invalid(info->name + ": is a composite operator; add it to a graph");
  for (const ParamInfo& p : info->params)
    if (p.required && !params.find(p.name) && std::find(bound.begin(), bound.end(), p.name) == bound.end())
      return invalid(info->name + ": the parameter '" + p.name + "' is missing (" + p.doc + ")");
  return info->make(params, bound);
}

}  // namespace headrace
