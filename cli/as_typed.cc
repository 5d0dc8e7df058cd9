#include "cli/as_typed.h"

#include <algorithm>
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

// The value at the front of `rest`, as a shell takes it.
std::string take_value(std::string_view& rest) {
  const auto take = [&](size_t length) { return std::exchange(rest, rest.substr(length)).substr(0, length); };
  if (const size_t end = rest.find('"', 1); rest.starts_with('"') && end != std::string_view::npos)
    return std::string(take(end + 1).substr(1, end - 1));
  for (const auto& [python, json] : {std::pair{"True", "true"}, {"False", "false"}})
    if (rest.starts_with(python)) return take(std::string_view(python).size()), json;
  return {};
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
      if (const std::string_view flag = flag_of(name, converts); !flag.empty()) {
        text.remove_prefix(length + 1);
        out.append(flag).append(name).append("=").append(take_value(text));
        continue;
      }
    }
    const size_t taken = std::max<size_t>(length, 1);
    out += text.substr(0, taken);
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace headrace::cli
