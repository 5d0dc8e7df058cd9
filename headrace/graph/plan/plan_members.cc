#include "headrace/graph/plan/plan_members.h"

#include <algorithm>
#include <vector>

namespace headrace {
namespace {

struct VerbMembers {
  std::string_view verb;
  std::vector<std::string_view> required, optional;
};

const std::vector<VerbMembers>& verbs() {
  static const std::vector<VerbMembers> table{
      {"batch", {"size"}, {"drop_last", "ragged", "padding"}},
      {"bucket_by_length",
       {"program", "boundaries"},
       {"sizes", "token_budget", "drop_last", "ragged", "padding", "pad_to_boundary"}},
      {"cache", {}, {"path", "max_memory", "version"}},
      {"choose", {"stop"}, {}},
      {"concatenate", {}, {}},
      {"filter", {"program"}, {}},
      {"from_generator", {"generator"}, {}},
      {"group_by_window", {"program"}, {"sizes", "token_budget", "drop_last", "ragged", "padding"}},
      {"interleave", {"cycle", "block"}, {}},
      {"map", {"program"}, {}},
      {"mix", {"schedule", "seed", "stop"}, {}},
      {"on_error", {"policy"}, {}},
      {"pack", {"strategy", "fields", "lengths", "bins", "most"}, {"fill", "drop_last"}},
      {"padded_batch", {"size"}, {"drop_last", "ragged", "padding"}},
      {"read", {"source"}, {}},
      {"repeat", {"times"}, {}},
      {"sample", {"seed"}, {"replacement", "num"}},
      {"scan", {"program", "structure"}, {"initial"}},
      {"shard", {"rank", "world", "even"}, {"steps"}},
      {"shuffle", {"seed", "window"}, {"blocks"}},
      {"skip", {"count"}, {}},
      {"sort_by", {}, {"descending"}},
      {"take", {"count"}, {}},
      {"take_while", {"program"}, {}},
      {"unbatch", {}, {}},
      {"unique", {"program"}, {}},
      {"window", {"size", "shift", "stride"}, {"drop_last", "ragged"}},
      {"zip", {"structure"}, {"ids"}},
  };
  return table;
}

std::string listed(std::span<const std::string_view> required, std::span<const std::string_view> optional) {
  std::string out;
  for (const auto names : {required, optional})
    for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out.empty() ? "none" : out;
}

}  // namespace

Status check_members(const Value& value, std::string_view what, std::span<const std::string_view> required,
                     std::span<const std::string_view> optional) {
  const std::string text(what);
  if (!value.object()) return invalid("plan: " + text + " must be an object, got " + value.dump());
  for (const auto& [key, item] : *value.object())
    if (std::ranges::find(required, key) == required.end() &&
        std::ranges::find(optional, key) == optional.end())
      return invalid("plan: " + text + " has no member '" + key +
                     "'; its members are: " + listed(required, optional));
  for (const std::string_view key : required)
    if (!value.find(key)) return invalid("plan: " + text + ": '" + std::string(key) + "' is missing");
  return {};
}

Status check_verb_members(const std::string& verb, const Value& node) {
  const auto it = std::ranges::find(verbs(), verb, &VerbMembers::verb);
  if (it == verbs().end()) return invalid("plan: no verb named '" + verb + "'");
  std::vector<std::string_view> optional = it->optional;
  for (const std::string_view common : {"verb", "input", "inputs", "at"}) optional.push_back(common);
  return check_members(node, verb, it->required, optional);
}

}  // namespace headrace
