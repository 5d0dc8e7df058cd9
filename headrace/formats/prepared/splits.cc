#include "headrace/formats/prepared/splits.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

using Unit = SplitPart::Unit;

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view without_blanks_before(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
}
std::string_view without_blanks_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

Status wrong(std::string_view part) {
  return invalid(
             "expected a name with an optional slice, such as \"train\", \"train[:10%]\" or \"train[5:-5]\", "
             "got " +
             in_quotes(part))
      .in_option("split");
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// With the syntax of Python: "1_000", "-5", and "12.5", ".5", "5." if a fraction is allowed.
std::optional<double> read_number(std::string_view text, bool may_be_fraction) {
  std::string digits;
  bool has_point = false, has_digit = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '_' && i > 0 && is_digit(text[i - 1]) && i + 1 < text.size() && is_digit(text[i + 1])) continue;
    const bool is_point = c == '.' && may_be_fraction && !has_point;
    if (!is_digit(c) && !is_point && !(c == '-' && i == 0)) return std::nullopt;
    has_point = has_point || is_point, has_digit = has_digit || is_digit(c);
    digits += c;
  }
  double out = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, out, std::chars_format::fixed);
  if (!has_digit || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return out;
}

// A number, and the unit after it.
struct Boundary {
  std::string_view number;
  std::optional<Unit> unit;
};

Boundary read_boundary(std::string_view text, SplitRules rules) {
  if (text.ends_with('%')) return {text.substr(0, text.size() - 1), Unit::percent};
  constexpr std::string_view kShard = "shard";
  if (rules == SplitRules::tfds && text.ends_with(kShard))
    return {text.substr(0, text.size() - kShard.size()), Unit::shards};
  return {text, std::nullopt};
}

// "[from:to]" without the brackets.
bool read_slice(std::string_view slice, SplitRules rules, SplitPart& out) {
  const size_t colon = slice.find(':');
  const Boundary from = read_boundary(slice.substr(0, colon), rules);
  if (colon == std::string_view::npos) {  // "[3shard]" alone
    out.unit = Unit::shards, out.from = read_number(from.number, false);
    if (from.unit != Unit::shards || !out.from) return false;
    out.to = *out.from + 1;
    return true;
  }
  const Boundary to = read_boundary(slice.substr(colon + 1), rules);
  if (rules == SplitRules::tfds && slice == ":") return false;
  if (from.unit && to.unit && from.unit != to.unit) return false;
  out.unit = from.unit ? *from.unit : to.unit.value_or(Unit::samples);
  const bool may_be_fraction = rules == SplitRules::tfds && out.unit == Unit::percent;
  const auto read = [&](const Boundary& boundary, std::optional<double>& value) {
    if (boundary.number.empty()) return !boundary.unit;
    value = read_number(boundary.number, may_be_fraction);
    return value && (out.unit != Unit::percent || std::abs(*value) <= 100);
  };
  return read(from, out.from) && read(to, out.to);
}

Result<SplitPart> parse_part(std::string_view text, SplitRules rules) {
  SplitPart out;
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '-' ||
           c == '.' || static_cast<signed char>(c) < 0;
  };
  const std::string_view slice =
      text.substr(static_cast<size_t>(std::ranges::find_if_not(text, is_of_name) - text.begin()));
  out.name = text.substr(0, text.size() - slice.size());
  if (slice.empty()) return out.name.empty() ? Result<SplitPart>(wrong(text)) : out;
  const size_t end = slice.find(']');
  if (slice[0] != '[' || end == std::string_view::npos || !read_slice(slice.substr(1, end - 1), rules, out))
    return wrong(text);
  const std::string_view rounding = slice.substr(end + 1);
  if (rounding.empty()) return out;
  if (rules == SplitRules::tfds || out.unit != Unit::percent) return wrong(text);
  out.drops_remainder = rounding == "(pct1_dropremainder)";
  return out.drops_remainder || rounding == "(closest)" ? out : Result<SplitPart>(wrong(text));
}

// The number of samples in that many shards; a negative number counts from the last, like a Python slice.
double samples_before(double shard, const std::vector<uint64_t>& shards) {
  const auto count = static_cast<double>(shards.size());
  const double last = std::clamp(shard < 0 ? count + shard : shard, 0.0, count);
  double out = 0;
  for (size_t i = 0; i < static_cast<size_t>(last); ++i) out += static_cast<double>(shards[i]);
  return out;
}

double place_of(const SplitPart& part, double boundary, double all, const std::vector<uint64_t>& shards) {
  if (part.unit == Unit::samples) return boundary;
  if (part.unit == Unit::shards) return samples_before(boundary, shards);
  if (part.drops_remainder) return boundary * std::trunc(all / 100.0);
  return std::nearbyint(boundary * all / 100.0);
}

}  // namespace

Result<std::vector<SplitPart>> parse_splits(std::string_view text, SplitRules rules) {
  std::vector<SplitPart> out;
  while (true) {
    const size_t plus = text.find('+');
    std::string_view one = text.substr(0, plus);
    if (!out.empty()) one = without_blanks_before(one);
    if (plus != std::string_view::npos) one = without_blanks_behind(one);
    HEADRACE_ASSIGN(SplitPart part, parse_part(one, rules));
    for (const SplitPart& before : out)
      if (before.unit == Unit::percent && part.unit == Unit::percent &&
          before.drops_remainder != part.drops_remainder)
        return invalid({.expected = "percentages that are all rounded in the same way", .got = "two ways"})
            .in_option("split");
    out.push_back(std::move(part));
    if (plus == std::string_view::npos) return out;
    text.remove_prefix(plus + 1);
  }
}

Result<SplitRows> rows_of(const SplitPart& part, uint64_t size, SplitRules rules,
                          const std::vector<uint64_t>& shards) {
  const auto all = static_cast<double>(size);
  if (part.unit == Unit::shards && shards.empty())
    return invalid({.expected = "samples or percent for this data", .got = "shards"}).in_option("split");
  if (part.drops_remainder && size < 100)
    return invalid("pct1_dropremainder needs at least 100 samples, got " + std::to_string(size))
        .in_option("split");
  double from = part.from ? place_of(part, *part.from, all, shards) : 0, to = all;
  if (part.to) {
    // tfds also counts a slice of shards that ends at 0 from the end: "[-1shard]" is "[-1shard:0shard]".
    const bool is_from_end = part.unit == Unit::shards && *part.to <= 0;
    to = place_of(part, *part.to + (is_from_end ? static_cast<double>(shards.size()) : 0), all, shards);
  }
  if (rules == SplitRules::tfds && (std::abs(from) > all || std::abs(to) > all))
    return invalid({.expected = "a slice of " + std::to_string(size) + " samples",
                    .got = "one from " + std::to_string(static_cast<int64_t>(std::clamp(from, -1e18, 1e18))) +
                           " to " + std::to_string(static_cast<int64_t>(std::clamp(to, -1e18, 1e18)))})
        .in_option("split");
  from = std::clamp(from < 0 ? from + all : from, 0.0, all);
  to = std::clamp(to < 0 ? to + all : to, 0.0, all);
  if (from > to)
    return invalid({.expected = "a slice that ends after its start",
                    .got = "one from " + std::to_string(static_cast<int64_t>(from)) + " to " +
                           std::to_string(static_cast<int64_t>(to))})
        .in_option("split");
  return SplitRows{static_cast<uint64_t>(from), static_cast<uint64_t>(to - from)};
}

}  // namespace headrace
