#include "headrace/formats/meaning/attributes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "headrace/core/little_endian.h"
#include "headrace/core/text/text.h"

namespace headrace {
namespace {

constexpr std::string_view kScale = "scale_factor", kOffset = "add_offset", kFill = "_FillValue",
                           kMissing = "missing_value", kUnsigned = "_Unsigned";

double as_double(const AttributeNumber& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

// The only number of an attribute.
const AttributeNumber* number_of(std::span<const Attribute> attributes, std::string_view name) {
  const Attribute* found = find_attribute(attributes, name);
  return found && found->numbers.size() == 1 ? &found->numbers[0] : nullptr;
}

// Integers with the other sign, where `_Unsigned` says so.
DType as_seen(DType stored, std::span<const Attribute> attributes) {
  constexpr std::array<std::pair<DType, DType>, 4> pairs{
      {{DType::i8, DType::u8}, {DType::i16, DType::u16}, {DType::i32, DType::u32}, {DType::i64, DType::u64}}};
  const std::string said = lower_case(text_attribute(attributes, kUnsigned));
  for (const auto& [with_sign, without] : pairs) {
    if (said == "true" && stored == with_sign) return without;
    if (said == "false" && stored == without) return with_sign;
  }
  return stored;
}

// The number as a T, also one of the other sign with the same bits; nothing if no T is equal to it.
template <class T> std::optional<T> exactly(const AttributeNumber& number) {
  return std::visit(
      [](auto value) -> std::optional<T> {
        if constexpr (std::floating_point<T>) {
          return static_cast<T>(value);
        } else if constexpr (std::integral<decltype(value)>) {
          using Other = std::conditional_t<std::is_signed_v<T>, std::make_unsigned<T>, std::make_signed<T>>;
          if (std::in_range<T>(value)) return static_cast<T>(value);
          if (std::in_range<typename Other::type>(value)) return static_cast<T>(value);
          return std::nullopt;
        } else {
          const bool is_whole = std::trunc(value) == value && std::abs(value) < 0x1p63;
          return is_whole ? exactly<T>(AttributeNumber(static_cast<int64_t>(value))) : std::nullopt;
        }
      },
      number);
}

// Values that mean that there is none, except NaN, which already says so.
template <class T> std::vector<T> missing_values(std::span<const Attribute> attributes) {
  std::vector<T> out;
  for (const std::string_view name : {kFill, kMissing})
    if (const Attribute* found = find_attribute(attributes, name))
      for (const AttributeNumber& number : found->numbers)
        if (const auto value = exactly<T>(number); value && *value == *value) out.push_back(*value);
  return out;
}

// xarray's choice: a float that holds the stored numbers, or what scale_factor and add_offset have.
DType decoded_dtype(DType seen, bool has_missing, std::span<const Attribute> attributes) {
  const Attribute* scale = find_attribute(attributes, kScale);
  const Attribute* offset = find_attribute(attributes, kOffset);
  if (!number_of(attributes, kScale)) scale = nullptr;
  if (!number_of(attributes, kOffset)) offset = nullptr;
  const auto is_single_float = [](const Attribute* one) { return one && one->dtype == DType::f32; };
  if (scale && offset) {
    const bool is_wide_integer = !is_float(seen) && size_of(seen) == 4;
    return is_single_float(scale) && is_single_float(offset) && !is_wide_integer ? DType::f32 : DType::f64;
  }
  if (offset) return DType::f64;
  if (scale) return is_single_float(scale) ? DType::f32 : DType::f64;
  if (!has_missing) return seen;
  if (is_float(seen)) return seen == DType::f64 ? DType::f64 : DType::f32;
  return size_of(seen) <= 2 ? DType::f32 : DType::f64;
}

// Stored as T, seen as S, decoded as D.
template <class T, class S, class D> struct Decoder {
  std::vector<T> missing;
  std::optional<D> scale, offset;

  D operator()(T stored) const {
    if constexpr (std::floating_point<D>)
      if (std::ranges::find(missing, stored) != missing.end()) return std::numeric_limits<D>::quiet_NaN();
    D out = static_cast<D>(static_cast<S>(stored));
    if constexpr (std::floating_point<D>) {
      if (scale) out *= *scale;
      if (offset) out += *offset;
    }
    return out;
  }
};

template <class T, class S, class D>
FieldChange decoding(std::span<const Attribute> attributes, DType dtype) {
  Decoder<T, S, D> decoder{missing_values<T>(attributes), std::nullopt, std::nullopt};
  if (const AttributeNumber* scale = number_of(attributes, kScale))
    decoder.scale = static_cast<D>(as_double(*scale));
  if (const AttributeNumber* offset = number_of(attributes, kOffset))
    decoder.offset = static_cast<D>(as_double(*offset));
  return [decoder = std::move(decoder), dtype](const Tensor& value) -> Result<Tensor> {
    const View view = value.view();
    const int64_t count = view.shape.count();
    const MutableBufferPtr out = HeapBuffer::make(view.shape.size_bytes(dtype));
    for (int64_t i = 0; i < count; ++i) {
      const D decoded = decoder(load<T>(view.data + static_cast<size_t>(i) * sizeof(T)));
      std::memcpy(out->mutable_data() + static_cast<size_t>(i) * sizeof(D), &decoded, sizeof decoded);
    }
    return Tensor{out, 0, dtype, value.shape, nullptr};
  };
}

template <class T, class S> FieldChange decoding_seen(std::span<const Attribute> attributes, DType dtype) {
  if (dtype == DType::f32) return decoding<T, S, float>(attributes, dtype);
  if (dtype == DType::f64) return decoding<T, S, double>(attributes, dtype);
  return decoding<T, S, S>(attributes, dtype);
}

template <class T>
FieldChange decoding_stored(std::span<const Attribute> attributes, bool is_seen_as_other, DType dtype) {
  if constexpr (std::integral<T>) {
    using Other = std::conditional_t<std::is_signed_v<T>, std::make_unsigned<T>, std::make_signed<T>>;
    if (is_seen_as_other) return decoding_seen<T, typename Other::type>(attributes, dtype);
  }
  return decoding_seen<T, T>(attributes, dtype);
}

std::string number_text(const AttributeNumber& number) {
  const Value value = std::visit([](auto one) { return Value(one); }, number);
  return value.dump();
}

}  // namespace

const Attribute* find_attribute(std::span<const Attribute> attributes, std::string_view name) {
  const auto at = std::ranges::find(attributes, name, &Attribute::name);
  return at == attributes.end() ? nullptr : &*at;
}

std::string text_attribute(std::span<const Attribute> attributes, std::string_view name) {
  const Attribute* found = find_attribute(attributes, name);
  return found && found->texts.size() == 1 ? found->texts[0] : "";
}

std::optional<Attribute> attribute_of(std::string_view name, const Value& value) {
  Attribute out{std::string(name)};
  const auto take = [&](const Value& one) {
    if (one.text())
      out.texts.push_back(*one.text());
    else if (one.integer())
      out.numbers.emplace_back(*one.integer());
    else if (one.real())
      out.numbers.emplace_back(*one.real());
    else
      return false;
    return true;
  };
  bool is_known = true;
  if (value.list()) {
    out.is_single = false;
    for (const Value& one : *value.list()) is_known = is_known && take(one);
  } else {
    is_known = take(value);
  }
  if (!is_known || (!out.texts.empty() && !out.numbers.empty())) return std::nullopt;
  const auto is_whole = [](const AttributeNumber& one) { return !std::holds_alternative<double>(one); };
  out.dtype = !out.texts.empty()                           ? DType::str
              : std::ranges::all_of(out.numbers, is_whole) ? DType::i64
                                                           : DType::f64;
  return out;
}

Value value_of(const Attribute& attribute) {
  Value::List all;
  for (const std::string& text : attribute.texts) all.emplace_back(text);
  for (const AttributeNumber& number : attribute.numbers)
    all.push_back(std::visit([](auto one) { return Value(one); }, number));
  return attribute.is_single && all.size() == 1 ? all[0] : Value(std::move(all));
}

std::optional<Decoding> decoding_of(DType stored, std::span<const Attribute> attributes) {
  const bool is_number =
      !is_text(stored) && stored != DType::boolean && stored != DType::f16 && stored != DType::bf16;
  if (!is_number || std::ranges::none_of(attributes, is_of_decoding, &Attribute::name)) return std::nullopt;
  const DType seen = as_seen(stored, attributes);
  bool has_missing = false;
  visit_dtype(stored, [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T> && !std::same_as<T, bool>)
      has_missing = !missing_values<T>(attributes).empty();
  });
  const DType dtype = decoded_dtype(seen, has_missing, attributes);
  if (dtype == stored && !has_missing && !is_packed(attributes)) return std::nullopt;
  Decoding out{dtype, nullptr};
  visit_dtype(stored, [&]<class T>() {
    if constexpr (std::is_arithmetic_v<T> && !std::same_as<T, bool>)
      out.change = decoding_stored<T>(attributes, seen != stored, dtype);
  });
  return out;
}

bool is_of_decoding(std::string_view attribute) {
  return attribute == kScale || attribute == kOffset || attribute == kFill || attribute == kMissing ||
         attribute == kUnsigned;
}

bool is_packed(std::span<const Attribute> attributes) {
  return number_of(attributes, kScale) || number_of(attributes, kOffset);
}

std::string packing_text(std::span<const Attribute> attributes) {
  if (!is_packed(attributes)) return {};
  std::string out = "packed with";
  for (const std::string_view name : {kScale, kOffset})
    if (const AttributeNumber* number = number_of(attributes, name))
      out += (out.ends_with("with") ? " " : ", ") + std::string(name) + " " + number_text(*number);
  return out;
}

std::string unit_text(std::span<const Attribute> attributes) {
  const std::string units = text_attribute(attributes, "units");
  const std::string calendar = text_attribute(attributes, "calendar");
  return units.empty() || calendar.empty() ? units : units + ", calendar " + calendar;
}

void keep_same(const Value& other, Value& mine) {
  if (!mine.object()) return;
  Value out;
  const bool are_few = mine.object()->size() <= kMostAttributes;
  if (are_few && other.object() && other.object()->size() <= kMostAttributes)
    for (const auto& [key, value] : *mine.object())
      if (const Value* same = other.find(key); same && *same == value) out.set(key, value);
  mine = std::move(out);
}

void keep_same_of_fields(const Value& other, Value& mine) {
  if (!mine.object()) return;
  Value out;
  for (auto [field, attributes] : *mine.object()) {
    const Value* of_other = other.find(field);
    keep_same(of_other ? *of_other : Value(), attributes);
    if (!attributes.is_null()) out.set(field, std::move(attributes));
  }
  mine = std::move(out);
}

OptionInfo raw_option_info(const std::string& decoded_in) {
  return {"raw", "bool | None",
          "Whether numbers are read as they are stored, without their scale_factor, add_offset, _FillValue, "
          "missing_value and _Unsigned. When not given, those of " +
              decoded_in + " are decoded and others are not."};
}

Result<std::optional<bool>> raw_option(const GivenOptions& options) {
  const Value* given = options.options.find("raw");
  if (!given || given->is_null()) return std::optional<bool>();
  HEADRACE_ASSIGN(const bool raw, options.flag("raw", false));
  return std::optional(raw);
}

}  // namespace headrace
