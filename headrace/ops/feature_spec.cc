#include "headrace/ops/feature_spec.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "headrace/core/text/text.h"

namespace headrace {

template <> struct EnumNames<FeatureLength> {
  static constexpr std::array names{std::string_view("fixed_len"), std::string_view("var_len"),
                                    std::string_view("fixed_len_sequence")};
};

namespace {

constexpr std::string_view kNotFinite[] = {"nan", "inf", "-inf"};  // which JSON cannot represent

std::optional<float> float_of(const Value& value) {
  float out = 0;
  if (Codec<float>::in(value, out)) return out;
  if (!value.text() || std::ranges::find(kNotFinite, *value.text()) == std::end(kNotFinite))
    return std::nullopt;
  return std::strtof(value.text()->c_str(), nullptr);
}

Value finite(const Value& value) {
  if (const double* real = value.real(); real && !std::isfinite(*real))
    return std::isnan(*real) ? kNotFinite[0] : *real > 0 ? kNotFinite[1] : kNotFinite[2];
  if (!value.list()) return value;
  Value::List out;
  for (const Value& item : *value.list()) out.push_back(finite(item));
  return out;
}

// The elements of nested lists, which spell a shape, one after the other.
void flatten(const Value& value, Value::List& out) {
  if (!value.list()) return out.push_back(value);
  for (const Value& item : *value.list()) flatten(item, out);
}

Status wrong_kind(const FeatureSpec& spec, FeatureKind got) {
  return corrupt({.expected = in_quotes(spec.name) + " of " + std::string(feature_kind_name(spec.kind())),
                  .got = std::string(feature_kind_name(got))});
}

int64_t as_dim(uint64_t count) { return static_cast<int64_t>(count); }

// Appends the values of one feature at `at` and `lengths`, which move on. Null `lengths`: lengths are not
// stored.
Status append(const Feature& feature, DType dtype, std::byte*& at, int64_t*& lengths) {
  if (dtype == DType::bytes) return copy_bytes(feature, at, lengths);
  if (dtype == DType::f32) {
    HEADRACE_ASSIGN(float* const end, copy_floats(feature, reinterpret_cast<float*>(at)));
    at = reinterpret_cast<std::byte*>(end);
  } else {
    HEADRACE_ASSIGN(int64_t* const end, copy_ints(feature, reinterpret_cast<int64_t*>(at)));
    at = reinterpret_cast<std::byte*>(end);
  }
  return {};
}

}  // namespace

Result<FeatureSpec> FeatureSpec::from(std::string name, const Value& value) {
  if (!value.object()) return invalid({.expected = "an object", .got = value.dump()});
  FeatureSpec out;
  out.name = std::move(name);
  for (const auto& [key, member] : *value.object()) {
    std::vector<int64_t> shape;
    if (key == "kind") {
      if (!Codec<FeatureLength>::in(member, out.length))
        return invalid("kind must be " + Codec<FeatureLength>::wanted() + ", got " + member.dump());
    } else if (key == "dtype") {
      if (!Codec<DType>::in(member, out.dtype))
        return invalid("dtype must be " + Codec<DType>::wanted() + ", got " + member.dump());
    } else if (key == "shape") {
      if (!Codec<std::vector<int64_t>>::in(member, shape) || shape.size() > static_cast<size_t>(kMaxRank))
        return invalid("shape must be at most 8 integers, got " + member.dump());
      out.shape = Shape(shape);
    } else if (key == "allow_missing") {
      if (!Codec<bool>::in(member, out.allow_missing))
        return invalid("allow_missing must be true or false, got " + member.dump());
    } else if (key == "default_value") {
      out.default_value = finite(member);
    } else {
      return invalid("unknown key " + in_quotes(key) +
                     "; the keys are kind, dtype, shape, default_value, allow_missing");
    }
  }
  HEADRACE_TRY(out.check());
  return out;
}

Value FeatureSpec::to_value() const {
  Value out{Value::Object()};
  out.set("kind", Codec<FeatureLength>::out(length));
  out.set("dtype", short_name(dtype));
  if (length != FeatureLength::var_len)
    out.set("shape", Codec<std::vector<int64_t>>::out(std::vector(shape.dims().begin(), shape.dims().end())));
  if (length == FeatureLength::fixed_len) out.set("default_value", default_value);
  if (length == FeatureLength::fixed_len_sequence) out.set("allow_missing", allow_missing);
  return out;
}

Status FeatureSpec::check() const {
  if (kind() == FeatureKind::none)
    return invalid("dtype must be bytes, int64 or float32, the types in an Example, got " +
                   std::string(dtype_name(dtype)) + "; convert the result with cast()");
  if (std::ranges::any_of(shape.dims(), [](int64_t d) { return d < 0; }))
    return invalid("shape must have no negative dimension, got " + shape.text() +
                   "; use var_len for any number of values");
  if (length == FeatureLength::var_len && shape.rank() > 0)
    return invalid("shape needs fixed_len or fixed_len_sequence, got var_len");
  if (length == FeatureLength::fixed_len_sequence && (shape.rank() == kMaxRank || shape.count() == 0))
    return invalid("shape of a sequence must have at most 7 dimensions, all above 0, got " + shape.text());
  if (length != FeatureLength::fixed_len_sequence && allow_missing)
    return invalid("allow_missing needs fixed_len_sequence; fixed_len has default_value, var_len needs none");
  return check_default();
}

Status FeatureSpec::check_default() const {
  if (default_value.is_null()) return {};
  if (length != FeatureLength::fixed_len) return invalid("default_value needs fixed_len");
  Value::List values;
  flatten(default_value, values);
  if (default_value.list() && as_dim(values.size()) != shape.count())
    return invalid("default_value must be one value, or " + std::to_string(shape.count()) + " for shape " +
                   shape.text() + ", got " + std::to_string(values.size()));
  for (const Value& value : values) {
    const bool fits = dtype == DType::bytes ? value.text() != nullptr
                      : dtype == DType::i64 ? value.integer() != nullptr
                                            : float_of(value).has_value();
    if (!fits)
      return invalid("default_value must hold values of dtype " + std::string(dtype_name(dtype)) + ", got " +
                     value.dump());
  }
  return {};
}

FeatureKind FeatureSpec::kind() const {
  switch (dtype) {
    case DType::bytes: return FeatureKind::bytes;
    case DType::f32: return FeatureKind::floats;
    case DType::i64: return FeatureKind::ints;
    default: return FeatureKind::none;
  }
}

void FeatureSpec::infer(std::vector<TensorSpec>& out) const {
  const Shape count = length == FeatureLength::fixed_len ? shape
                      : length == FeatureLength::var_len ? Shape{kAny}
                                                         : shape.with_front(kAny);
  if (dtype != DType::bytes) return out.push_back({dtype, count});
  out.push_back({dtype, {kAny}});
  if (is_list_of_bytes()) out.push_back({DType::i64, count});
}

Status FeatureSpec::missing() const {
  const bool may = length == FeatureLength::var_len || allow_missing || !default_value.is_null();
  if (may) return {};
  return corrupt("the example has no feature " + in_quotes(name));
}

Result<uint64_t> FeatureSpec::count(const Feature& feature) const {
  if (feature.kind != kind()) return wrong_kind(*this, feature.kind);
  HEADRACE_ASSIGN(const uint64_t count, count_values(feature));
  const auto each = static_cast<uint64_t>(shape.count());
  const bool fits = length == FeatureLength::fixed_len ? count == each
                    : length == FeatureLength::var_len ? true
                                                       : count % each == 0;
  if (fits) return count;
  return corrupt({.expected = std::string(length == FeatureLength::fixed_len ? "" : "a multiple of ") +
                              std::to_string(each) + " values of " + in_quotes(name) + " for shape " +
                              shape.text(),
                  .got = std::to_string(count)});
}

Status FeatureSpec::measure(const Feature* feature, std::span<Shape> out) const {
  if (dtype != DType::bytes && length == FeatureLength::fixed_len) return out[0] = shape, Status();
  uint64_t values = 0, bytes = 0;
  if (feature && feature->kind != FeatureKind::none) {
    HEADRACE_ASSIGN(values, count(*feature));
    if (dtype == DType::bytes) {
      HEADRACE_ASSIGN(bytes, count_bytes(*feature));
    }
  } else {
    HEADRACE_TRY(missing());
    Value::List defaults;
    if (!default_value.is_null()) flatten(default_value, defaults);
    for (const Value& value : defaults) bytes += value.text()->size();
    if (defaults.size() == 1) bytes = saturating_mul(bytes, static_cast<uint64_t>(shape.count()));
  }
  const Shape counts = length == FeatureLength::fixed_len ? shape
                       : length == FeatureLength::var_len
                           ? Shape{as_dim(values)}
                           : shape.with_front(as_dim(values / static_cast<uint64_t>(shape.count())));
  out[0] = dtype == DType::bytes ? Shape{as_dim(bytes)} : counts;
  if (is_list_of_bytes()) out[1] = counts;
  return {};
}

Status FeatureSpec::write_default(std::span<const MutView> out) const {
  if (default_value.is_null()) return {};  // any number of values: there are none
  Value::List values;
  flatten(default_value, values);
  std::byte* bytes = out[0].data;
  for (int64_t i = 0; i < shape.count(); ++i) {
    const Value& value = values[values.size() == 1 ? 0 : static_cast<size_t>(i)];
    if (dtype == DType::i64) {
      out[0].as<int64_t>()[i] = *value.integer();
    } else if (dtype == DType::f32) {
      out[0].as<float>()[i] = *float_of(value);
    } else {
      const std::string& text = *value.text();
      bytes = std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), bytes);
      if (is_list_of_bytes()) out[1].as<int64_t>()[i] = as_dim(text.size());
    }
  }
  return {};
}

Status FeatureSpec::write(const Feature* feature, std::span<const MutView> out) const {
  if (!feature || feature->kind == FeatureKind::none) {
    HEADRACE_TRY(missing());
    return write_default(out);
  }
  // A known shape is not measured.
  if (length == FeatureLength::fixed_len) HEADRACE_TRY(count(*feature).status());
  std::byte* at = out[0].data;
  int64_t* lengths = is_list_of_bytes() ? out[1].as<int64_t>() : nullptr;
  return append(*feature, dtype, at, lengths);
}

Status FeatureSpec::check_steps() const {
  if (length == FeatureLength::fixed_len)
    return invalid("a feature list must be var_len or fixed_len_sequence, got fixed_len");
  if (dtype == DType::bytes && (length == FeatureLength::var_len || shape.rank() > 0))
    return {Code::unavailable,
            "a feature list of bytes must have one value per step: fixed_len_sequence of shape ()"};
  return {};
}

size_t FeatureSpec::num_step_outputs() const {
  return dtype == DType::bytes || length == FeatureLength::var_len ? 2 : 1;
}

void FeatureSpec::infer_steps(std::vector<TensorSpec>& out) const {
  if (num_step_outputs() == 1) return out.push_back({dtype, shape.with_front(kAny)});
  out.push_back({dtype, {kAny}});
  out.push_back({DType::i64, {kAny}});
}

Status FeatureSpec::measure_steps(const FeatureEntry* entry, std::span<Shape> out) const {
  uint64_t steps = 0, values = 0, bytes = 0;
  if (!entry) HEADRACE_TRY(missing());
  const auto add = [&](const Feature& step) -> Status {
    ++steps;
    if (step.kind == FeatureKind::none && length == FeatureLength::var_len) return {};
    if (step.kind != kind()) return wrong_kind(*this, step.kind);
    HEADRACE_ASSIGN(const uint64_t count, count_values(step));
    if (length == FeatureLength::fixed_len_sequence && count != static_cast<uint64_t>(shape.count()))
      return corrupt({.expected = std::to_string(shape.count()) + " values of " + in_quotes(name) +
                                  " in each step for shape " + shape.text(),
                      .got = std::to_string(count) + " in step " + std::to_string(steps - 1)});
    values += count;
    if (dtype != DType::bytes) return {};
    HEADRACE_ASSIGN(const uint64_t size, count_bytes(step));
    bytes += size;
    return {};
  };
  if (entry) HEADRACE_TRY(each_step(*entry, add));
  out[0] = dtype == DType::bytes              ? Shape{as_dim(bytes)}
           : length == FeatureLength::var_len ? Shape{as_dim(values)}
                                              : shape.with_front(as_dim(steps));
  if (num_step_outputs() == 2) out[1] = {as_dim(steps)};
  return {};
}

Status FeatureSpec::write_steps(const FeatureEntry* entry, std::span<const MutView> out) const {
  if (!entry) return {};
  std::byte* at = out[0].data;
  int64_t* lengths = num_step_outputs() == 2 ? out[1].as<int64_t>() : nullptr;
  return each_step(*entry, [&](const Feature& step) -> Status {
    if (dtype == DType::bytes) return append(step, dtype, at, lengths);
    const std::byte* const begin = at;
    int64_t* none = nullptr;
    if (step.kind != FeatureKind::none) HEADRACE_TRY(append(step, dtype, at, none));
    if (lengths) *lengths++ = (at - begin) / static_cast<ptrdiff_t>(size_of(dtype));
    return {};
  });
}

FeatureSpecs FeatureSpecs::from(const Value::Object& object) {
  FeatureSpecs out;
  for (const auto& [name, value] : object) {
    auto spec = FeatureSpec::from(name, value);
    if (!spec.ok()) {
      out.wrong = in_quotes(name) + ": " + std::string(spec.status().text());
      return out;
    }
    out.sorted_.push_back(static_cast<uint32_t>(out.specs.size()));
    out.specs.push_back(*std::move(spec));
  }
  std::ranges::sort(out.sorted_, [&](uint32_t a, uint32_t b) {
    const std::string &x = out.specs[a].name, &y = out.specs[b].name;
    return x.size() != y.size() ? x.size() < y.size() : x < y;
  });
  return out;
}

size_t FeatureSpecs::find(std::string_view name) const {
  const auto at = std::ranges::partition_point(sorted_, [&](uint32_t i) {
    const std::string& other = specs[i].name;
    return other.size() != name.size() ? other.size() < name.size() : other < name;
  });
  return at != sorted_.end() && specs[*at].name == name ? *at : specs.size();
}

}  // namespace headrace
