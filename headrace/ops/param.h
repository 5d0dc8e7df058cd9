// Parameters of operators: how a struct's members become JSON, Python arguments, checks and documentation.
//
// `Arg<T>` is a parameter that is a constant or, per sample, a field; `Field` describes one member;
// `Codec<T>` converts a member to a Value and back. An operator writes one tuple of Fields and gets the rest
// from it.
#pragma once
#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "headrace/core/dtype.h"
#include "headrace/core/value.h"

namespace headrace {

// A scalar parameter: constant, or bound to a field of the sample. Operators only read `value`; when it is
// bound the engine fills `value` from the field before each call and repeats check().
template <class T> struct Arg {
  T value{};
  Arg() = default;
  Arg(T v) : value(v) {}
  operator T() const { return value; }
};
template <class T> inline constexpr bool is_arg = false;
template <class T> inline constexpr bool is_arg<Arg<T>> = true;

// One described member of an operator. The tuple of these is the only place where a parameter is named.
template <class Op, class T> struct Field {
  std::string_view name;
  T Op::* member;
  std::string_view doc;
};
template <class Op, class T> Field(std::string_view, T Op::*, std::string_view) -> Field<Op, T>;

// Specialise for an enum: `static constexpr std::array names{"bilinear", ...}` in the order of its values.
template <class E> struct EnumNames;

// Converts a C++ member type to a Value and back, and spells it in Python. `in` returns whether the value
// fits.
template <class T> struct Codec;

// The expected value in messages, where the Python spelling does not describe it.
template <class T> std::string wanted_text() {
  if constexpr (requires { Codec<T>::wanted(); }) return Codec<T>::wanted();
  return Codec<T>::py();
}

template <> struct Codec<bool> {
  static std::string py() { return "bool"; }
  static Value out(bool v) { return v; }
  static bool in(const Value& v, bool& o) {
    if (!v.boolean()) return false;
    o = *v.boolean();
    return true;
  }
};
template <std::integral T> struct Codec<T> {
  static std::string py() { return "int"; }
  static Value out(T v) { return static_cast<int64_t>(v); }
  static bool in(const Value& v, T& o) {
    const int64_t* i = v.integer();
    if (!i || !std::in_range<T>(*i)) return false;
    o = static_cast<T>(*i);
    return true;
  }
};
template <std::floating_point T> struct Codec<T> {
  static std::string py() { return "float"; }
  static Value out(T v) {
    // A float's shortest decimal: 0.485f is written 0.485, not 0.48500001430511475.
    if constexpr (std::same_as<T, float>) {
      char text[32];
      std::snprintf(text, sizeof text, "%.9g", static_cast<double>(v));
      for (int digits = 6; digits < 9; ++digits) {
        char shorter[32];
        std::snprintf(shorter, sizeof shorter, "%.*g", digits, static_cast<double>(v));
        if (std::strtof(shorter, nullptr) == v) return std::strtod(shorter, nullptr);
      }
      return std::strtod(text, nullptr);
    } else {
      return static_cast<double>(v);
    }
  }
  static bool in(const Value& v, T& o) {
    if (v.real())
      o = static_cast<T>(*v.real());
    else if (v.integer())
      o = static_cast<T>(*v.integer());
    else
      return false;
    return true;
  }
};
template <> struct Codec<std::string> {
  static std::string py() { return "str"; }
  static Value out(const std::string& v) { return v; }
  static bool in(const Value& v, std::string& o) {
    if (!v.text()) return false;
    o = *v.text();
    return true;
  }
};
template <> struct Codec<DType> {
  static std::string py() { return "DTypeLike"; }
  static std::string wanted() { return "one of " + dtype_names(); }
  static Value out(DType v) { return short_name(v); }
  static bool in(const Value& v, DType& o) {
    if (!v.text()) return false;
    auto parsed = parse_dtype(*v.text());
    if (parsed.ok()) o = *parsed;
    return parsed.ok();
  }
};
template <class E>
  requires std::is_enum_v<E>
struct Codec<E> {
  static std::string py() {
    std::string out = "Literal[";
    for (std::string_view n : EnumNames<E>::names)
      out += (out.back() == '[' ? "\"" : ", \"") + std::string(n) + "\"";
    return out + "]";
  }
  static std::string wanted() {  // "rgb", "gray" or "unchanged"
    constexpr auto& names = EnumNames<E>::names;
    std::string out;
    for (size_t i = 0; i < names.size(); ++i)
      out += (i == 0 ? "\"" : i + 1 < names.size() ? ", \"" : " or \"") + std::string(names[i]) + "\"";
    return out;
  }
  static Value out(E v) { return std::string_view(EnumNames<E>::names[static_cast<size_t>(v)]); }
  static bool in(const Value& v, E& o) {
    if (!v.text()) return false;
    for (size_t i = 0; i < EnumNames<E>::names.size(); ++i)
      if (*v.text() == EnumNames<E>::names[i]) {
        o = static_cast<E>(i);
        return true;
      }
    return false;
  }
};
// A list; one scalar is accepted as a list of one.
template <class T> struct Codec<std::vector<T>> {
  static std::string py() { return Codec<T>::py() + " | Sequence[" + Codec<T>::py() + "]"; }
  static Value out(const std::vector<T>& v) {
    Value::List list;
    for (const T& item : v) list.push_back(Codec<T>::out(item));
    return list;
  }
  static bool in(const Value& v, std::vector<T>& o) {
    std::vector<T> items;
    if (const auto* list = v.list()) {
      for (const Value& item : *list) {
        T parsed{};
        if (!Codec<T>::in(item, parsed)) return false;
        items.push_back(parsed);
      }
    } else {
      T parsed{};
      if (!Codec<T>::in(v, parsed)) return false;
      items.push_back(parsed);
    }
    o = std::move(items);
    return true;
  }
};
template <class T, size_t N> struct Codec<std::array<T, N>> {
  static std::string py() { return "Sequence[" + Codec<T>::py() + "]"; }
  static Value out(const std::array<T, N>& v) {
    return Codec<std::vector<T>>::out(std::vector<T>(v.begin(), v.end()));
  }
  static bool in(const Value& v, std::array<T, N>& o) {
    std::vector<T> items;
    if (!Codec<std::vector<T>>::in(v, items) || items.size() != N) return false;
    std::copy(items.begin(), items.end(), o.begin());
    return true;
  }
};
template <class T> struct Codec<std::optional<T>> {
  static std::string py() { return Codec<T>::py() + " | None"; }
  static Value out(const std::optional<T>& v) { return v ? Codec<T>::out(*v) : Value(); }
  static bool in(const Value& v, std::optional<T>& o) {
    if (v.is_null()) {
      o.reset();
      return true;
    }
    T parsed{};
    if (!Codec<T>::in(v, parsed)) return false;
    o = std::move(parsed);
    return true;
  }
};
template <class T> struct Codec<Arg<T>> {
  static std::string py() { return Codec<T>::py() + " | Symbol"; }
  static Value out(const Arg<T>& v) { return Codec<T>::out(v.value); }
  static bool in(const Value& v, Arg<T>& o) { return Codec<T>::in(v, o.value); }
};

}  // namespace headrace
