#include "headrace/formats/shard_names.h"

#include <algorithm>
#include <array>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string last_ending(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 || dot + 1 == name.size() ? "" : name.substr(dot);
}

template <size_t n> bool is_one_of(std::string_view ending, const std::array<std::string_view, n>& list) {
  return std::find(list.begin(), list.end(), ending) != list.end();
}

}  // namespace

std::optional<NumberedName> numbered(const std::string& name) {
  for (size_t of = name.rfind("-of-"); of != std::string::npos && of > 0; of = name.rfind("-of-", of - 1)) {
    const size_t dash = name.rfind('-', of - 1);
    const size_t end = std::min(name.find_first_not_of("0123456789", of + 4), name.size());
    if (dash == std::string::npos || !is_digits(std::string_view(name).substr(dash + 1, of - dash - 1)) ||
        end == of + 4)
      continue;
    return NumberedName{name.substr(0, dash + 1), name.substr(dash + 1, of - dash - 1),
                        name.substr(of + 4, end - of - 4), name.substr(end)};
  }
  return std::nullopt;
}

std::string without_number(const std::string& name) {
  const auto parts = numbered(name);
  return parts ? parts->before.substr(0, parts->before.size() - 1) + parts->after : name;
}

std::string shard_kind(std::string_view name) {
  constexpr std::array<std::string_view, 7> packed{".gz", ".zlib", ".zz", ".zst", ".lz4", ".bz2", ".xz"};
  std::string left = without_number(lower_case(name));
  std::string ending = last_ending(left);
  if (std::ranges::find(packed, ending) != packed.end()) {
    left = without_number(left.substr(0, left.size() - ending.size()));
    if (const std::string inner = last_ending(left); !inner.empty())
      ending = inner;
    else
      ending = "";
  }
  return ending;
}

bool is_beside_data(std::string_view kind) {
  constexpr std::array<std::string_view, 18> kinds{
      ".idx", ".index", ".json",  ".txt",   ".md",     ".lst", ".csv",    ".tsv",    ".yaml",
      ".yml", ".xml",   ".pbtxt", ".jsonl", ".ndjson", ".md5", ".sha256", ".sha512", ".crc"};
  return is_one_of(kind, kinds);
}

bool is_text_data(std::string_view kind) {
  constexpr std::array<std::string_view, 5> kinds{".csv", ".tsv", ".txt", ".jsonl", ".ndjson"};
  return is_one_of(kind, kinds);
}

bool is_our_own(std::string_view name) {
  return name.starts_with(".headrace/") || name == "headrace.json" || name == "quarantine.json" ||
         name.ends_with(".headrace.json") || name.ends_with(".quarantine.json");
}

}  // namespace headrace
