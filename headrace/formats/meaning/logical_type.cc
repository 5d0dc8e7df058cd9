#include "headrace/formats/meaning/logical_type.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "headrace/formats/columns.h"

namespace headrace {
namespace {

constexpr int64_t kDay = 24 * 60 * 60;
// Units, the coarsest first; how many of each are a second.
constexpr std::array<std::string_view, 4> kUnits{"s", "ms", "us", "ns"};
constexpr std::array<int64_t, 4> kPerSecond{1, 1'000, 1'000'000, 1'000'000'000};

enum class Family : uint8_t { date, time, timestamp, duration, decimal };

struct Parsed {
  Family family = Family::date;
  size_t unit = 0;               // index into kUnits; of a date: 0 counts days, 1 milliseconds
  std::string_view zone;         // of a timestamp
  int precision = 0, scale = 0;  // of a decimal
};

// What is between `before` and `after`; nothing if the text is not of this form.
std::optional<std::string_view> between(std::string_view text, std::string_view before,
                                        std::string_view after) {
  if (!text.starts_with(before) || !text.ends_with(after) || text.size() < before.size() + after.size())
    return std::nullopt;
  return text.substr(before.size(), text.size() - before.size() - after.size());
}

std::optional<size_t> unit_of(std::string_view text) {
  const auto at = std::ranges::find(kUnits, text);
  return at == kUnits.end() ? std::nullopt : std::optional(static_cast<size_t>(at - kUnits.begin()));
}

std::optional<Parsed> of_unit(Family family, std::string_view unit, std::string_view zone = {}) {
  const auto at = unit_of(unit);
  return at ? std::optional(Parsed{family, *at, zone}) : std::nullopt;
}

std::optional<Parsed> decimal_of(std::string_view numbers) {
  Parsed out{Family::decimal};
  const size_t comma = numbers.find(", ");
  if (comma == std::string_view::npos) return std::nullopt;
  const auto read = [](std::string_view text, int& to) {
    return std::from_chars(text.data(), text.data() + text.size(), to).ec == std::errc();
  };
  if (!read(numbers.substr(0, comma), out.precision) || !read(numbers.substr(comma + 2), out.scale))
    return std::nullopt;
  return out;
}

std::optional<Parsed> parse_type(std::string_view type) {
  if (type == "date32[day]") return Parsed{Family::date, 0};
  if (type == "date64[ms]") return Parsed{Family::date, 1};
  for (const std::string_view name : {"time32[", "time64["})
    if (const auto unit = between(type, name, "]")) return of_unit(Family::time, *unit);
  if (const auto unit = between(type, "duration[", "]")) return of_unit(Family::duration, *unit);
  for (const std::string_view name : {"decimal128(", "decimal256("})
    if (const auto numbers = between(type, name, ")")) return decimal_of(*numbers);
  const auto inside = between(type, "timestamp[", "]");
  if (!inside) return std::nullopt;
  constexpr std::string_view kZone = ", tz=";
  const size_t at = inside->find(kZone);
  if (at == std::string_view::npos) return of_unit(Family::timestamp, *inside);
  return of_unit(Family::timestamp, inside->substr(0, at), inside->substr(at + kZone.size()));
}

std::string type_of_decimals(const Parsed& a, const Parsed& b) {
  const int scale = std::max(a.scale, b.scale);
  const int precision = std::max(a.precision - a.scale, b.precision - b.scale) + scale;
  return (precision > 38 ? "decimal256(" : "decimal128(") + std::to_string(precision) + ", " +
         std::to_string(scale) + ")";
}

}  // namespace

std::optional<std::string> common_type(std::string_view a, std::string_view b) {
  if (a == b || b == kNullType) return std::string(a);
  if (a == kNullType) return std::string(b);
  const auto first = parse_type(a), second = parse_type(b);
  // Decimals are read as floats, so that a plain number next to them is a float.
  if ((first && first->family == Family::decimal && b.empty()) ||
      (second && second->family == Family::decimal && a.empty()))
    return std::string();
  if (!first || !second || first->family != second->family) return std::nullopt;
  const size_t unit = std::max(first->unit, second->unit);
  const std::string name(kUnits[unit]);
  switch (first->family) {
    case Family::date: return "date64[ms]";
    case Family::time: return (unit < 2 ? "time32[" : "time64[") + name + "]";
    case Family::duration: return "duration[" + name + "]";
    case Family::decimal: return type_of_decimals(*first, *second);
    case Family::timestamp: break;
  }
  // With a time zone a timestamp counts from 1970 in UTC, whatever the zone; without, on some local clock.
  if (first->zone.empty() != second->zone.empty()) return std::nullopt;
  return timestamp_type(name, first->zone == second->zone ? first->zone : "UTC");
}

std::optional<DType> common_dtype(DType a, DType b) {
  if (a == b) return a;
  const auto is_signed = [](DType dtype) {
    return dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
  };
  const auto is_unsigned = [](DType dtype) {
    return dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64;
  };
  if (is_float(a) && is_float(b)) {
    const bool are_halves = size_of(a) == 2 && size_of(b) == 2;  // float16 and bfloat16
    return are_halves ? DType::f32 : size_of(a) > size_of(b) ? a : b;
  }
  if ((is_signed(a) && is_signed(b)) || (is_unsigned(a) && is_unsigned(b)))
    return size_of(a) > size_of(b) ? a : b;
  if (is_unsigned(a)) std::swap(a, b);
  if (!is_signed(a) || !is_unsigned(b)) return std::nullopt;
  for (const DType wide : {DType::i16, DType::i32, DType::i64})
    if (size_of(wide) > size_of(b) && size_of(wide) >= size_of(a)) return wide;
  return std::nullopt;
}

int64_t factor_between(std::string_view from, std::string_view to) {
  const auto first = parse_type(from), second = parse_type(to);
  if (!first || !second || first->family == Family::decimal) return 1;
  if (first->family == Family::date) return first->unit == second->unit ? 1 : kDay * kPerSecond[1];
  return kPerSecond[second->unit] / kPerSecond[first->unit];
}

std::string type_text(std::string_view type) { return type.empty() ? "a plain number" : std::string(type); }

}  // namespace headrace
