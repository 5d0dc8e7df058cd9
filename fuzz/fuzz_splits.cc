// Any lines as the names in a folder: their splits and partitions name files that are there, and choosing all
// of the splits gives all of them.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "headrace/formats/splits/hive.h"
#include "headrace/formats/splits/splits.h"

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::set<std::string> names;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view name = text.substr(0, end);
    if (!name.empty() && name.find('\0') == name.npos && name.front() != '/' && name.back() != '/' &&
        name.find("//") == name.npos)
      names.emplace(name);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Listing listing;
  for (const std::string& name : names) listing.files.add(name);
  const auto is_there = [&](const std::string& path) {
    const auto at = names.lower_bound(path);
    return at != names.end() && at->starts_with(path);
  };
  const Splits splits = find_splits(listing);
  for (const Split& split : splits.all) {
    if (split.name.empty() || split.paths.empty() || !std::ranges::all_of(split.paths, is_there))
      std::abort();
    if (splits.data_sets.empty() && !choose_splits(splits, Value(split.name)).ok()) std::abort();
  }
  if (!splits.all.empty() && choose_splits(splits, Value("all"))->size() != splits.all.size()) std::abort();
  std::vector<std::string> copies;
  const auto partitions = hive_partitions(listing, copies);
  if (!partitions.ok()) return 0;
  for (const HivePartition& one : *partitions)
    if (one.values.empty() || one.files.empty() || !std::ranges::all_of(one.files, is_there)) std::abort();
  return 0;
}
