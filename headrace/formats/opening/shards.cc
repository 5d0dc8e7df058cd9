#include "headrace/formats/opening/shards.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "headrace/core/text/text.h"
#include "headrace/formats/endings.h"
#include "headrace/formats/shard_names.h"

namespace headrace {
namespace {

constexpr size_t kShownFolders = 3;

// An LMDB database is a folder. Numbered ones are shards; others are, for example, train and val.
bool is_in_numbered_database(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.substr(slash) != "/data.mdb") return false;
  const std::string folder(name.substr(0, slash));
  return without_number(folder) != folder;
}

std::string folders_text(const std::set<std::string_view>& folders) {
  std::string out;
  size_t shown = 0;
  for (const std::string_view folder : folders) {
    if (++shown > kShownFolders) return out + ", …";
    out += (out.empty() ? "'" : ", '") + std::string(folder) + "'";
  }
  return out;
}

// Where the name of the shard begins in a path: an LMDB database is a folder.
size_t name_in(const std::string& path) {
  size_t end = path.size();
  if (path.ends_with("/data.mdb")) end -= std::string_view("/data.mdb").size();
  return end == 0 ? 0 : path.rfind('/', end - 1) + 1;
}

constexpr size_t kShownShards = 3;
constexpr uint64_t kMostShards = 1 << 20;  // a name with a larger number is not that of a shard

std::string missing_of(const NumberedName& set, const std::set<uint64_t>& there, uint64_t of,
                       const IsAsked& is_asked) {
  std::vector<std::string> names;
  uint64_t missing = of - there.size();
  if (is_asked) missing = 0;
  for (uint64_t i = 0; i < of && (is_asked || names.size() <= kShownShards); ++i) {
    if (there.contains(i)) continue;
    std::string number = std::to_string(i);
    number.insert(0, set.number.size() - std::min(set.number.size(), number.size()), '0');
    std::string name = set.before + number + "-of-" + set.of + set.after;
    if (is_asked && !is_asked(name)) continue;
    if (is_asked) ++missing;
    if (names.size() <= kShownShards) names.push_back(std::move(name));
  }
  return missing == 0 ? std::string() : missing_text(names, missing, of);
}

struct NumberedSet {
  NumberedName first;
  std::set<uint64_t> there;
};

// The files whose names state how many there are, grouped by their paths without the number.
std::map<std::string, NumberedSet> sets_of(const std::vector<std::string>& paths) {
  std::map<std::string, NumberedSet> sets;
  for (const std::string& path : paths) {
    const size_t name = name_in(path);
    auto parts = numbered(path.substr(name));
    if (!parts || parts->number.size() > 9 || parts->of.size() > 9) continue;
    parts->before.insert(0, path, 0, name);
    NumberedSet& set =
        sets.try_emplace(parts->before + "*-of-" + parts->of + parts->after, NumberedSet{*parts, {}})
            .first->second;
    set.there.insert(std::stoull(parts->number));
  }
  return sets;
}

}  // namespace

std::string missing_text(std::span<const std::string> names, uint64_t missing, uint64_t of) {
  std::string shown;
  for (size_t i = 0; i < std::min(names.size(), kShownShards); ++i)
    shown += (i == 0 ? "" : ", ") + in_quotes(names[i]);
  return std::to_string(missing) + " of " + std::to_string(of) + " shards " + (missing == 1 ? "is" : "are") +
         " missing: " + shown + (missing > kShownShards ? ", …" : "");
}

std::string missing_shards(const std::vector<std::string>& paths, const IsAsked& is_asked) {
  std::string out;
  for (const auto& [name, set] : sets_of(paths)) {
    const uint64_t of = std::stoull(set.first.of);
    const bool from_0 =
        of <= kMostShards && !set.there.contains(of);  // sets that count from 1 are not checked
    if (!from_0 || set.there.size() >= of) continue;
    const std::string missing = missing_of(set.first, set.there, of, is_asked);
    out += (out.empty() || missing.empty() ? "" : "; ") + missing;
  }
  return out;
}

bool says_how_many(const std::string& path) { return numbered(path.substr(name_in(path))).has_value(); }

std::string several_sets(const std::vector<std::string>& paths) {
  const auto sets = sets_of(paths);
  if (sets.size() < 2) return {};
  std::string names;
  size_t shown = 0;
  for (const auto& [name, set] : sets)
    if (++shown <= kShownShards) names += (names.empty() ? "" : ", ") + in_quotes(name);
  return std::to_string(sets.size()) + " sets of shards: " + names + (shown > kShownShards ? ", …" : "");
}

Result<Shards> shards_of(const Listing& listing) {
  std::map<std::string, uint64_t> kinds;
  std::set<std::string_view> folders;
  std::vector<std::string_view> here;
  for (size_t i = 0; i < listing.files.size(); ++i) {
    const std::string_view name = listing.files[i];
    if (is_our_own(name)) continue;
    const size_t slash = name.find('/');
    const bool is_below = slash != std::string_view::npos && !is_in_numbered_database(name);
    if (is_below) folders.insert(name.substr(0, slash));
    if (!is_below && !is_never_data(name)) here.push_back(name);
  }
  const auto is_data = [](const std::string& kind) {
    return !is_beside_data(kind) && !is_code_or_page(kind);
  };
  const auto is_text = [](const std::string& kind) { return is_text_data(kind); };
  const auto is_page = [](const std::string& kind) { return is_code_or_page(kind); };
  for (const auto is_wanted : {+is_data, +is_text, +is_page}) {
    if (!kinds.empty()) break;
    for (const std::string_view name : here)
      if (const std::string kind = shard_kind(name); is_wanted(kind)) ++kinds[kind];
  }
  if (kinds.empty())
    return invalid({.expected = "a folder of data files",
                    .got = folders.empty() ? std::string("none")
                                           : "only folders; pass one of them, such as " +
                                                 folders_text(folders) + ", or a pattern"});
  const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
  const std::string& kind = std::max_element(kinds.begin(), kinds.end(), by_count)->first;
  Shards out;
  Endings others;
  std::vector<std::string> copies;
  for (const std::string_view name : here) {
    if (shard_kind(name) == kind)
      out.names.emplace_back(name);
    else
      others.add(name);
  }
  take_out_copies(out.names, copies);
  for (const std::string& name : copies) others.add(name);
  for (size_t i = 0; i < listing.files.size(); ++i)
    if (const std::string_view name = listing.files[i]; name.find('/') != std::string_view::npos &&
                                                        !is_in_numbered_database(name) && !is_our_own(name) &&
                                                        !name.ends_with("/lock.mdb"))
      others.add(name);
  if (others.files() > 0)
    out.left_out = Value::Object{{"files", others.files()}, {"endings", others.value()}};
  if (!copies.empty())  // the first of them
    out.left_out.set("copies",
                     Value::Object{{"files", static_cast<uint64_t>(copies.size())}, {"first", copies[0]}});
  return out;
}

}  // namespace headrace
