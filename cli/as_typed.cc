#include "cli/as_typed.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "headrace/formats/format.h"
#include "headrace/formats/writer.h"

namespace headrace::cli {
namespace {

bool is_of_name(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

template <class Registry> bool has_option(const Registry& registry, std::string_view name) {
  return std::ranges::any_of(registry, [&](const auto& entry) {
    return std::ranges::find(entry.second.options, name, &OptionInfo::name) != entry.second.options.end();
  });
}

// Before "name="; "" where it is no option, or may be one of what is read and of what is written.
std::string_view flag_of(std::string_view name, bool converts) {
  const bool reads = has_option(formats(), name);
  if (!converts) return reads ? "--option " : "";
  const bool writes = has_option(writers(), name);
  return reads == writes ? "" : reads ? "--source-option " : "--option ";
}

// The value at the front of `rest`, as a shell takes it; "" where none is given. Nothing: not as Python has
// it.
std::optional<std::string> take_value(std::string_view& rest) {
  const auto take = [&](size_t length) { return std::exchange(rest, rest.substr(length)).substr(0, length); };
  if (rest.empty() || std::string_view(" ,;:)").find(rest[0]) != std::string_view::npos) return "";
  if (const size_t end = rest.find('"', 1); rest.starts_with('"') && end != std::string_view::npos)
    return std::string(take(end + 1).substr(1, end - 1));
  for (const auto& [python, json] : {std::pair{"True", "true"}, {"False", "false"}})
    if (rest.starts_with(python)) return take(std::string_view(python).size()), json;
  return std::nullopt;
}

// What stands in '…' at the front, which is the user's: a path, a name.
std::string_view quoted(std::string_view text) {
  const size_t end = text.starts_with('\'') ? text.find('\'', 1) : std::string_view::npos;
  return end == std::string_view::npos ? "" : text.substr(0, end + 1);
}

}  // namespace

std::string as_typed(std::string_view text, bool converts) {
  std::string out;
  while (!text.empty()) {
    const size_t length = static_cast<size_t>(std::ranges::find_if_not(text, is_of_name) - text.begin());
    const std::string_view name = text.substr(0, length);
    // Behind a comma it is an argument of a call.
    const bool begins = out.empty() || (out.ends_with(' ') && !out.ends_with(", "));
    if (begins && length > 0 && text.substr(length).starts_with('=')) {
      const std::string_view flag = flag_of(name, converts);
      std::string_view rest = text.substr(length + 1);
      const auto value = flag.empty() ? std::nullopt : take_value(rest);
      if (value) {
        out.append(flag).append(name).append("=").append(*value);
        text = rest;
        continue;
      }
    }
    const std::string_view users = begins || out.ends_with('(') ? quoted(text) : "";
    const size_t taken = std::max<size_t>(std::max(length, users.size()), 1);
    out += text.substr(0, taken);
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace headrace::cli
