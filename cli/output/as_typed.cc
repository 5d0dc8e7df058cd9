#include "cli/output/as_typed.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "headrace/formats/format.h"
#include "headrace/formats/writer.h"

namespace headrace::cli {
namespace {

constexpr std::string_view kSomeList = "'[\"…\"]'";

bool is_of_name(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

template <class Registry> bool has_option(const Registry& registry, std::string_view name) {
  return std::ranges::any_of(registry, [&](const auto& entry) {
    return std::ranges::find(entry.second.options, name, &OptionInfo::name) != entry.second.options.end();
  });
}

// The flag for option `name`; "" if it is not an option, or may be one of both source and target.
std::string_view flag_of(std::string_view name, bool converts) {
  const bool reads = name == "split" || has_option(formats(), name);  // folders have splits, not formats
  if (!converts) return reads ? "--option " : "";
  const bool writes = has_option(writers(), name);
  return reads == writes ? "" : reads ? "--source-option " : "--option ";
}

const OptionInfo* option_of(std::string_view name) {
  for (const auto& [format, info] : formats())
    for (const OptionInfo& option : info.options)
      if (option.name == name) return &option;
  return nullptr;
}

bool takes_list(std::string_view name) {
  const OptionInfo* option = option_of(name);
  return option && option->type.find("Sequence[str]") != std::string::npos;
}

// Length up to the bracket that closes the first one; 0 if there is none.
size_t bracketed(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '[' || text[i] == '{' ? 1 : text[i] == ']' || text[i] == '}' ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return 0;
}

// Take the value at the start of `rest`, in shell syntax; "" if there is none. Nothing: not a Python value.
std::optional<std::string> take_value(std::string_view& rest) {
  const auto take = [&](size_t length) { return std::exchange(rest, rest.substr(length)).substr(0, length); };
  if (rest.empty() || std::string_view(" ,;:)").find(rest[0]) != std::string_view::npos) return "";
  if (const size_t end = rest.find('"', 1); rest.starts_with('"') && end != std::string_view::npos)
    return std::string(take(end + 1).substr(1, end - 1));
  if (rest.starts_with("[…]")) return take(std::string_view("[…]").size()), std::string(kSomeList);
  if (rest[0] == '[' || rest[0] == '{')
    if (const size_t length = bracketed(rest); length > 0) return "'" + std::string(take(length)) + "'";
  if (const size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size()); digits > 0)
    return std::string(take(digits));
  for (const auto& [python, json] : {std::pair{"True", "true"}, {"False", "false"}})
    if (rest.starts_with(python)) return take(std::string_view(python).size()), json;
  return std::nullopt;
}

// The hint if a string was given for a list: "; --option columns='["label"]'", else "".
std::string list_of_one(const ErrorFacts& facts, bool converts) {
  if (facts.expected != "a list of str") return "";
  const auto got = Value::parse(facts.got);
  const std::string_view flag = flag_of(facts.option, converts);
  if (flag.empty() || !got.ok() || !got->text()) return "";
  return "; " + std::string(flag) + facts.option + "='[" + facts.got + "]'";
}

// A quoted '…' at the start, which is the user's: a path, a name.
std::string_view quoted(std::string_view text) {
  const size_t end = text.starts_with('\'') ? text.find('\'', 1) : std::string_view::npos;
  return end == std::string_view::npos ? "" : text.substr(0, end + 1);
}

std::string with_flags(std::string_view text, std::string_view format_flag, bool converts) {
  std::string out;
  while (!text.empty()) {
    const size_t length = static_cast<size_t>(std::ranges::find_if_not(text, is_of_name) - text.begin());
    const std::string_view name = text.substr(0, length);
    // After a comma it is an argument of a call.
    const bool begins = out.empty() || (out.ends_with(' ') && !out.ends_with(", "));
    if (begins && length > 0 && text.substr(length).starts_with('=')) {
      constexpr std::string_view kSkip = "skip_unreadable=True";
      if (text.starts_with(kSkip)) {
        out += "--skip-unreadable";
        text.remove_prefix(kSkip.size());
        continue;
      }
      const bool is_format = name == "format";
      const std::string_view flag = is_format ? format_flag : flag_of(name, converts);
      std::string_view rest = text.substr(length + 1);
      const auto value = flag.empty() ? std::nullopt : take_value(rest);
      if (value && is_format) {
        out.append(flag).append(value->empty() ? "" : " ").append(*value);
      } else if (value) {
        const bool is_some_list = value->empty() && takes_list(name);
        out.append(flag).append(name).append("=").append(is_some_list ? kSomeList : *value);
      }
      if (value) {
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

}  // namespace

std::string as_typed(std::string_view text, bool converts) { return with_flags(text, "--format", converts); }

std::string as_typed(const Status& status, bool converts) {
  const ErrorFacts& facts = status.facts();
  const std::string_view format_flag = converts && facts.op == "read" ? "--source-format" : "--format";
  return with_flags(status.text(), format_flag, converts) + list_of_one(facts, converts);
}

}  // namespace headrace::cli
