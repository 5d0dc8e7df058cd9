#include "headrace/graph/padding.h"

#include <cstring>

#include "headrace/ops/number.h"

namespace headrace {
namespace {

Result<Number> number_from(const Value& value, std::string_view what) {
  Number number;
  if (const bool* flag = value.boolean()) return Number{true, *flag ? 1 : 0, *flag ? 1.0 : 0.0};
  if (Codec<Number>::in(value, number)) return number;
  return invalid(std::string(what) + ": fill must be a number, got " + value.dump());
}

Result<Shape> shape_from(const Value& value, const std::string& what) {
  if (!value.list() || value.list()->size() > kMaxRank)
    return invalid(what + " must be a list of at most 8 dimensions, got " + value.dump());
  std::vector<int64_t> dims;
  for (const Value& dim : *value.list()) {
    if (!dim.is_null() && (!dim.integer() || *dim.integer() < 0))
      return invalid(what + " must contain numbers of at least 0, or None, got " + value.dump());
    dims.push_back(dim.is_null() ? kAny : *dim.integer());
  }
  return Shape(std::span<const int64_t>(dims));
}

// Calls set(field, value) for each member of an object, or for each item of a list.
template <class F>
Status each_field(const Value& given, const Schema& rows, const std::string& what, F&& set) {
  if (const Value::List* list = given.list()) {
    if (list->size() != rows.size())
      return invalid(what + " must have " + std::to_string(rows.size()) + " items, one per field, got " +
                     std::to_string(list->size()));
    for (size_t f = 0; f < list->size(); ++f) HEADRACE_TRY(set(f, (*list)[f]));
    return {};
  }
  const Value::Object* fields = given.object();
  if (!fields) return invalid(what + " must be a dict from field to value, got " + given.dump());
  for (const auto& [name, value] : *fields) {
    const int f = rows.find(name);
    if (f < 0) return invalid(what + ": no field '" + name + "'; the fields are " + rows.text());
    HEADRACE_TRY(set(static_cast<size_t>(f), value));
  }
  return {};
}

}  // namespace

Result<Padding> padding_from(const Value* shapes, const Value* fill, const Schema& rows,
                             std::string_view verb) {
  Padding out;
  for (const TensorSpec& spec : rows.specs) {
    const std::vector<int64_t> any(static_cast<size_t>(spec.shape.rank()), kAny);
    out.shapes.emplace_back(std::span<const int64_t>(any));
    out.fill.emplace_back(0);
  }
  const std::string what(verb);
  if (shapes && !shapes->is_null())
    HEADRACE_TRY(each_field(*shapes, rows, what + ": shapes", [&](size_t f, const Value& value) -> Status {
      HEADRACE_ASSIGN(out.shapes[f], shape_from(value, what + ": shapes['" + rows.names[f] + "']"));
      return {};
    }));
  if (fill && (fill->list() || fill->object()))
    HEADRACE_TRY(each_field(*fill, rows, what + ": fill", [&](size_t f, const Value& value) -> Status {
      out.fill[f] = value;
      return {};
    }));
  else if (fill && !fill->is_null())
    out.fill.assign(rows.size(), *fill);
  for (size_t f = 0; f < rows.size(); ++f) HEADRACE_TRY(padded_spec(out, rows, f, verb).status());
  return out;
}

Value padding_to_value(const Padding& padding) {
  Value::List shapes;
  for (const Shape& shape : padding.shapes) {
    Value::List dims;
    for (const int64_t dim : shape.dims()) dims.push_back(dim == kAny ? Value() : Value(dim));
    shapes.emplace_back(std::move(dims));
  }
  Value out{Value::Object()};
  out.set("shapes", std::move(shapes));
  out.set("fill", padding.fill);
  return out;
}

Result<TensorSpec> padded_spec(const Padding& padding, const Schema& rows, size_t field,
                               std::string_view verb) {
  TensorSpec spec = rows.specs[field];
  if (is_text(spec.dtype)) return spec;
  const Shape& wanted = padding.shapes[field];
  const auto refused = [&] {
    return invalid(std::string(verb) + ": field '" + rows.names[field] + "' is " + spec.text() +
                   ", which does not fit into " + wanted.text());
  };
  if (wanted.rank() != spec.shape.rank()) return refused();
  TensorSpec out = spec;
  for (int d = 0; d < wanted.rank(); ++d) {
    if (wanted[d] == kAny) continue;
    if (spec.shape[d] > wanted[d]) return refused();
    out.shape.set(d, wanted[d]);
  }
  HEADRACE_ASSIGN(const Number fill, number_from(padding.fill[field], verb));
  if (!is_float(spec.dtype) && !fits(fill, spec.dtype))
    return invalid(std::string(verb) + ": fill " + number_text(fill) + " does not fit field '" +
                   rows.names[field] + "' of " + std::string(dtype_name(spec.dtype)));
  return out;
}

std::vector<std::byte> element_bytes(const Value& number, DType dtype) {
  const Number value = number_from(number, "").ok() ? *number_from(number, "") : Number{};
  std::vector<std::byte> out(size_of(dtype));
  visit_dtype(dtype, [&]<class T>() {
    const T element = Element<T>::store(value.as<typename Element<T>::Compute>());
    std::memcpy(out.data(), &element, sizeof element);
  });
  return out;
}

}  // namespace headrace
