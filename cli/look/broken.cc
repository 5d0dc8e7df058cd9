#include "cli/look/broken.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <string_view>

#include "cli/output/as_typed.h"
#include "cli/output/terminal.h"

namespace headrace::cli {
namespace {

std::string without_digits(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_hex = [&](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const bool begins = is_digit(text[i]) && (out.empty() || !std::isalnum(static_cast<uint8_t>(out.back())));
    if (!begins) {
      out += text[i++];
      continue;
    }
    const bool hex = text.substr(i).starts_with("0x");
    for (i += hex ? 2 : 1; i < text.size() && (hex ? is_hex(text[i]) : is_digit(text[i]));) ++i;
    out += '#';
  }
  return out;
}

// The reason without what differs between files: "… 17 extraneous bytes …" becomes "… # extraneous bytes …",
// what came instead of the expected, such as the value in a column, "…", and the first bytes of what is no
// image are left out.
std::string reason_class(const Broken& broken) {
  const std::string_view reason = broken.reason, got = broken.facts.got;
  const std::string beginning = " (starts with " + broken.facts.got + ")";
  if (reason.ends_with(beginning)) return without_digits(reason.substr(0, reason.size() - beginning.size()));
  const size_t at = got.empty() || got == "null" ? std::string_view::npos : reason.rfind(got);
  if (at == std::string_view::npos) return without_digits(reason);
  return without_digits(reason.substr(0, at)) + "…" + without_digits(reason.substr(at + got.size()));
}

struct Alike {
  std::string reason;
  std::vector<const Broken*> all;  // in their original order
};

// By reason, the most frequent first.
std::vector<Alike> by_reason(const std::vector<Broken>& broken) {
  std::map<std::string, std::vector<const Broken*>> classes;
  for (const Broken& b : broken) classes[reason_class(b)].push_back(&b);
  std::vector<Alike> out;
  for (auto& [reason, all] : classes) out.push_back({reason, std::move(all)});
  std::ranges::stable_sort(out, std::ranges::greater{}, [](const Alike& alike) { return alike.all.size(); });
  return out;
}

}  // namespace

void set_place(uint64_t index, const SamplePlace& place, Value& out) {
  out.set("index", index), out.set("file", place.file);
  if (place.record) out.set("record", *place.record);
  if (place.byte) out.set("byte", *place.byte);
}

Broken broken_sample(const Source& source, uint64_t index, Status status) {
  SamplePlace place = source.where(index);
  status = with_place(std::move(status), place, index);
  return {index, std::move(place), as_typed(status), status.code(), status.facts()};
}

std::vector<std::pair<std::string, uint64_t>> totals_by_reason(const std::vector<Broken>& broken) {
  std::vector<std::pair<std::string, uint64_t>> out;
  for (Alike& alike : by_reason(broken)) out.emplace_back(std::move(alike.reason), alike.all.size());
  return out;
}

std::vector<std::string> broken_lines(const std::vector<Broken>& broken, const Source& source, size_t most) {
  std::vector<std::string> out;
  const auto add = [&](const Broken& b) { out.push_back(b.place.text() + ": " + b.reason); };
  if (source.num_files() > source.size() / 2) {
    std::ranges::for_each(broken, add);
    return out;
  }
  for (const auto& [reason, all] : by_reason(broken)) {
    for (size_t i = 0; i < std::min(most, all.size()); ++i) add(*all[i]);
    if (all.size() > most) out.back() += fmt::format(" (and {} more)", count_text(all.size() - most));
  }
  return out;
}

Value broken_values(const std::vector<Broken>& broken) {
  Value::List out;
  for (const Broken& b : broken) {
    Value entry;
    set_place(b.index, b.place, entry), entry.set("reason", b.reason);
    entry.set("kind", code_name(b.code)), entry.set("facts", b.facts.values());
    out.push_back(std::move(entry));
  }
  return out;
}

Value reason_values(const std::vector<Broken>& broken) {
  Value out{Value::Object()};
  for (const auto& [reason, count] : totals_by_reason(broken)) out.set(reason, count);
  return out;
}

}  // namespace headrace::cli
