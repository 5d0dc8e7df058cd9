#include "headrace/formats/described.h"

#include <algorithm>

namespace headrace {
namespace {

Result<TensorSpec> spec_of_pair(const Value& value) {
  const auto wrong = [&] {
    return invalid({.expected = "a spec [dtype, [dimension, …]]", .got = value.dump()}).in_option("plan");
  };
  const auto* pair = value.list();
  if (!pair || pair->size() != 2 || !(*pair)[0].text() || !(*pair)[1].list()) return wrong();
  TensorSpec spec;
  HEADRACE_ASSIGN(spec.dtype, parse_dtype(*(*pair)[0].text()));
  const auto& dims = *(*pair)[1].list();
  if (dims.size() > kMaxRank) return wrong();
  std::vector<int64_t> sizes;
  for (const Value& dim : dims) {
    if (!dim.is_null() && (!dim.integer() || *dim.integer() < 0)) return wrong();
    sizes.push_back(dim.is_null() ? kAny : *dim.integer());
  }
  spec.shape = Shape(std::span<const int64_t>(sizes));
  return spec;
}

// Whether the leaves are 0, 1, … in order; `seen` counts them.
bool counts_leaves(const Value& nest, int64_t& seen) {
  if (nest.integer()) return *nest.integer() == seen++;
  if (const auto* list = nest.list())
    return std::ranges::all_of(*list, [&](const Value& item) { return counts_leaves(item, seen); });
  if (!nest.object()) return false;
  return std::ranges::all_of(*nest.object(),
                             [&](const auto& item) { return counts_leaves(item.second, seen); });
}

}  // namespace

void describe_schema(const Schema& schema, Value& out) {
  Value::List names, specs;
  for (const std::string& name : schema.names) names.emplace_back(name);
  for (const TensorSpec& spec : schema.specs) {
    Value::List dims;
    for (const int64_t dim : spec.shape.dims()) dims.push_back(dim == kAny ? Value() : Value(dim));
    specs.push_back(Value::List{short_name(spec.dtype), std::move(dims)});
  }
  out.set("names", std::move(names));
  out.set("specs", std::move(specs));
  out.set("structure", schema.structure);
}

Result<std::optional<Schema>> described_schema(const Value& description) {
  const Value *names = description.find("names"), *specs = description.find("specs");
  if (!names && !specs) return std::optional<Schema>();
  if (!names || !names->list() || !specs || !specs->list() || names->list()->size() != specs->list()->size())
    return invalid("expected lists 'names' and 'specs' of the same length for the data of a slot")
        .in_op("plan");
  Schema out;
  for (const Value& name : *names->list()) {
    if (!name.text())
      return invalid("'names' must be a list of strings, got " + name.dump() + " in it").in_op("plan");
    if (out.find(*name.text()) >= 0) return invalid("'names' has '" + *name.text() + "' twice").in_op("plan");
    out.names.push_back(*name.text());
  }
  for (const Value& value : *specs->list()) {
    HEADRACE_ASSIGN(TensorSpec spec, spec_of_pair(value));
    out.specs.push_back(spec);
  }
  const auto structure = description.get_text("structure");
  if (!structure.ok()) return structure.status().in_op("plan");
  HEADRACE_TRY(check_structure(*structure, out.size()).in_op("plan"));
  out.structure = *structure;
  return std::optional(std::move(out));
}

Status check_structure(const std::string& structure, size_t leaves) {
  const auto nest = Value::parse(structure);
  int64_t seen = 0;
  if (nest.ok() && counts_leaves(*nest, seen) && seen == static_cast<int64_t>(leaves)) return {};
  return invalid("'structure' must contain each of the " + std::to_string(leaves) +
                 " leaves once and in order, got " + (structure.empty() ? "\"\"" : structure));
}

Status check_fields(const Schema& wanted, const Schema& given) {
  bool fits = wanted.size() == given.size();
  for (size_t i = 0; fits && i < wanted.size(); ++i) {
    const int at = given.find(wanted.names[i]);
    fits = at >= 0 && wanted.specs[i].admits(given.specs[static_cast<size_t>(at)]);
  }
  if (fits) return {};
  return invalid({.expected = wanted.text() + " per row", .got = given.text()});
}

std::string fields_text(const Schema& schema) {
  return schema.size() == 1 && schema.structure == "0" ? schema.specs[0].text() : schema.text();
}

}  // namespace headrace
