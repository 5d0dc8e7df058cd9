// Opening in two steps: what a path stands for (a split of a folder, its partitions, or what is there), and
// the format of that. May block, like open.h.
#pragma once
#include <string_view>

#include "headrace/formats/index/indexing.h"
#include "headrace/formats/opening/probing.h"

namespace headrace {

inline constexpr std::string_view kSplit = "split";
bool has_option(const FormatInfo& info, std::string_view name);

// What is to be opened, and how a plan describes it.
struct Wanted {
  PathArgument given;
  std::string_view format = {};
  Value options = {};
  bool is_inner = false;        // another source wraps it, whose strings are checked
  bool is_described = false;    // a plan's: its options are complete
  Value path = {}, split = {};  // if `given` is a split of a folder: that folder, and what the user asked for
};

// Chooses splits and partitions; each part is opened as by open_looked_at().
Result<SourcePtr> open_wanted(Store& store, const Wanted& wanted, const IndexingOptions& indexing);
// Finds the format of what is there, and opens it. `info`: the format that the user named, or null;
// `recognised`: the one that is known to recognise the probe, or null.
Result<SourcePtr> open_looked_at(Store& store, const Wanted& wanted, const FormatInfo* info, Probe looked,
                                 const IndexingOptions& indexing, const FormatInfo* recognised = nullptr);

}  // namespace headrace
