#include "headrace/formats/splits/hive.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "headrace/core/text/text.h"
#include "headrace/core/text/utf8.h"
#include "headrace/formats/shard_names.h"

namespace headrace {
namespace {

constexpr std::string_view kNull = "__HIVE_DEFAULT_PARTITION__";

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = lower_case(c);
  return lower >= 'a' && lower <= 'f' ? std::optional(lower - 'a' + 10) : std::nullopt;
}

// "New%20York".
std::string without_percents(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = high ? hex_digit(text[i + 2]) : std::nullopt;
    out += low ? static_cast<char>(*high * 16 + *low) : text[i];
    if (low) i += 2;
  }
  return out;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairs_of(std::string_view path) {
  Pairs out;
  for (size_t at = 0; at < path.size();) {
    const size_t slash = path.find('/', at);
    if (slash == std::string_view::npos) break;
    const std::string_view folder = path.substr(at, slash - at);
    if (const size_t sign = folder.find('='); sign != std::string_view::npos && sign > 0)
      out.emplace_back(without_percents(folder.substr(0, sign)), without_percents(folder.substr(sign + 1)));
    at = slash + 1;
  }
  return out;
}

// The data files; text only where there is nothing else.
std::vector<std::string_view> data_files(const Names& files) {
  std::vector<std::string_view> out, text;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string_view path = files[i], name = path.substr(path.rfind('/') + 1);
    const std::string kind = shard_kind(name);
    if (is_never_data(path) || is_code_or_page(kind)) continue;
    if (path.find('/') == std::string_view::npos && (kind.empty() || is_usual_beside(name))) continue;
    if (!is_beside_data(kind))
      out.push_back(path);
    else if (is_text_data(kind))
      text.push_back(path);
  }
  return out.empty() ? text : out;
}

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t out = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out);
  // "007" is a code, not a number.
  const bool is_plain = error == std::errc() && at == end && std::to_string(out) == text;
  return is_plain ? std::optional(out) : std::nullopt;
}

}  // namespace

std::vector<std::string> hive_keys(std::string_view path) {
  std::vector<std::string> out;
  for (auto& [key, value] : pairs_of(path)) out.push_back(std::move(key));
  return out;
}

Result<std::vector<HivePartition>> hive_partitions(const Listing& listing, std::vector<std::string>& copies) {
  std::map<Pairs, std::vector<std::string>> found;
  std::vector<std::string> keys;
  const std::vector<std::string_view> views = data_files(listing.files);
  std::vector<std::string> paths(views.begin(), views.end());
  take_out_copies(paths, copies);
  for (const std::string& path : paths) {
    Pairs pairs = pairs_of(path);
    if (pairs.empty()) return std::vector<HivePartition>();
    if (found.empty()) keys = hive_keys(path);
    if (hive_keys(path) != keys)
      return invalid("expected a folder for each of the same columns as the files before").in_file(path);
    for (const auto& [key, value] : pairs) {
      if (value == kNull || value.empty())
        return invalid("has no value for " + in_quotes(key) +
                       "; pass the folders of the other values as a list")
            .in_file(path);
      if (utf8_prefix(key) != key.size() || utf8_prefix(value) != value.size())
        return invalid("expected names in UTF-8").in_file(path);
    }
    found[std::move(pairs)].emplace_back(path);
  }
  std::vector<bool> are_numbers(keys.size(), true);
  for (const auto& [pairs, files] : found)
    for (size_t k = 0; k < keys.size(); ++k)
      are_numbers[k] = are_numbers[k] && whole_number(pairs[k].second).has_value();
  std::vector<HivePartition> out;
  for (auto& [pairs, files] : found) {
    HivePartition one;
    for (size_t k = 0; k < keys.size(); ++k)
      one.values.push_back(
          {keys[k], are_numbers[k] ? scalar(*whole_number(pairs[k].second)) : text_tensor(pairs[k].second)});
    one.files = std::move(files);
    out.push_back(std::move(one));
  }
  std::ranges::sort(out, {}, [](const HivePartition& one) { return one.files.front(); });
  return out;
}

}  // namespace headrace
