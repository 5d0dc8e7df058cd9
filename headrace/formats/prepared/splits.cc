#include "headrace/formats/prepared/splits.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "headrace/core/text.h"

namespace headrace {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Status wrong(std::string_view part) {
  return invalid(
      "split wants a name with a slice or without, \"train\", \"train[:10%]\" or \"train[5:-5]\", got " +
      in_quotes(part));
}

struct Boundary {
  std::optional<double> value;
  std::optional<SplitPart::Unit> unit;
};

bool read_boundary(std::string_view text, Boundary& out) {
  text = trimmed(text);
  if (text.empty()) return true;
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || !(std::abs(value) <= 1e15)) return false;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  out.value = value;
  if (unit == "%") out.unit = SplitPart::Unit::percent;
  if (unit == "shard") out.unit = SplitPart::Unit::shards;
  return (unit.empty() || out.unit) && (unit == "%" || value == std::trunc(value));
}

Result<SplitPart> parse_part(std::string_view text) {
  SplitPart out;
  const size_t open = text.find('[');
  out.name = trimmed(text.substr(0, open));
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || static_cast<signed char>(c) < 0;
  };
  if (!std::ranges::all_of(out.name, is_of_name)) return wrong(text);
  if (open == std::string_view::npos) return out.name.empty() ? Result<SplitPart>(wrong(text)) : out;
  if (!text.ends_with(']')) return wrong(text);
  const std::string_view slice = text.substr(open + 1, text.size() - open - 2);
  const size_t colon = slice.find(':');
  Boundary from, to;
  if (colon == std::string_view::npos) {  // "[3shard]" alone
    if (!read_boundary(slice, from) || from.unit != SplitPart::Unit::shards) return wrong(text);
    to = {*from.value + 1, from.unit};
  } else if (!read_boundary(slice.substr(0, colon), from) || !read_boundary(slice.substr(colon + 1), to)) {
    return wrong(text);
  }
  if (from.unit && to.unit && from.unit != to.unit) return wrong(text);
  out.unit = from.unit ? *from.unit : to.unit.value_or(SplitPart::Unit::samples);
  out.from = from.value, out.to = to.value;
  return out;
}

}  // namespace

Result<std::vector<SplitPart>> parse_splits(std::string_view text) {
  std::vector<SplitPart> out;
  while (true) {
    const size_t plus = text.find('+');
    HEADRACE_ASSIGN(SplitPart part, parse_part(trimmed(text.substr(0, plus))));
    out.push_back(std::move(part));
    if (plus == std::string_view::npos) return out;
    text.remove_prefix(plus + 1);
  }
}

Result<SplitRows> rows_of(const SplitPart& part, uint64_t size, const std::vector<uint64_t>& shards) {
  const auto all = static_cast<double>(size);
  const auto place = [&](std::optional<double> boundary, double otherwise) {
    if (!boundary) return otherwise;
    if (part.unit == SplitPart::Unit::percent) return std::nearbyint(*boundary * all / 100.0);
    if (part.unit == SplitPart::Unit::samples) return *boundary;
    const auto count = static_cast<double>(shards.size());
    const double last = std::clamp(*boundary < 0 ? count + *boundary : *boundary, 0.0, count);
    double out = 0;
    for (size_t i = 0; i < static_cast<size_t>(last); ++i) out += static_cast<double>(shards[i]);
    return out;
  };
  if (part.unit == SplitPart::Unit::shards && shards.empty())
    return invalid("split wants samples or percent here, got shards");
  double from = place(part.from, 0), to = place(part.to, all);
  if (std::abs(from) > all || std::abs(to) > all)
    return invalid("split wants a slice of " + std::to_string(size) + " samples, got one from " +
                   std::to_string(static_cast<int64_t>(from)) + " to " +
                   std::to_string(static_cast<int64_t>(to)));
  if (from < 0) from += all;
  if (to < 0) to += all;
  return SplitRows{static_cast<uint64_t>(from), static_cast<uint64_t>(std::max(to - from, 0.0))};
}

}  // namespace headrace
