// A split that is read alone, beside the others of its data set: whether its numbers mean the same there. Its
// class lists, units and the dtypes that are inferred from text are compared with those of the others. May
// block, like open.h.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "headrace/formats/format.h"
#include "headrace/formats/source.h"

namespace headrace {

// How the splits of one data set are opened.
struct SplitOpener {
  std::vector<std::string> names;  // of all splits
  bool are_of_format = false;      // its index lists them, so that opening one more is cheap
  // `split`: a name, a list of names, or "all".
  std::function<Result<SourcePtr>(const Value& split, const Value& options)> open;
  // What the manifest of a split says, without opening it; null if it has none.
  std::function<Value(const std::string& name, const FormatInfo& format)> said;
  std::function<uint64_t(const std::string& name)> bytes;  // of its files
};

// Opens the chosen splits. Formats with an option `classes` get the classes of all splits, if those of some
// differ, so that a label means the same in each; for other differences there is a note.
Result<SourcePtr> open_beside_others(const SplitOpener& splits, const Value& choice, const Value& options);

}  // namespace headrace
