#include "headrace/ops/op.h"

#include <algorithm>

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

namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string suggest_op(std::string_view wrong) {
  std::string best;
  size_t distance = std::max<size_t>(2, wrong.size() / 3) + 1;
  for (const auto& [name, info] : ops())
    if (const size_t d = edit_distance(wrong, name); d < distance) distance = d, best = name;
  return best.empty() ? "" : ", did you mean '" + best + "'?";
}

Result<Box> AnyOp::reads(const Shape&, const Key&) const {
  return internal_error(std::string(name()) + ": reads its inputs whole");
}

Status AnyOp::run_part(std::span<const View> in, const Key& key, const Box&, std::span<const MutView> out,
                       Scratch& scratch) const {
  return run(in, key, out, scratch);
}

Result<Geometry> AnyOp::place(const Geometry&, std::span<const View>, const Key&) const {
  return internal_error(std::string(name()) + ": wants pixels");
}

Result<OpPtr> make_op(std::string_view name, const Value& params, std::span<const std::string> bound) {
  const OpInfo* info = find_op(name);
  if (!info) return invalid("no operator named '" + std::string(name) + "'" + suggest_op(name));
  if (!info->make) return invalid(info->name + ": is a composite; add it through a graph");
  for (const ParamInfo& p : info->params)
    if (p.required && !params.find(p.name) && std::find(bound.begin(), bound.end(), p.name) == bound.end())
      return invalid(info->name + ": wants the parameter '" + p.name + "' (" + p.doc + ")");
  return info->make(params, bound);
}

}  // namespace headrace
