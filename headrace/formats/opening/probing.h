// What is known of a path before it is opened, and which format reads it. May block, like open.h.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/core/text/text.h"
#include "headrace/formats/format.h"

namespace headrace {

// What a user gave: one path or several, each of which may be a pattern.
struct PathArgument {
  std::vector<std::string> paths;
  bool is_list = false;

  std::string text() const;  // for messages
  Value value() const { return is_list ? Value(Value::List(paths.begin(), paths.end())) : Value(paths[0]); }
};

Result<Probe> probe(Store& store, const std::string& path);
// With patterns expanded and lists of shards read. `twice`: how many files were named again, and are read
// once.
Result<Probe> probe(Store& store, const PathArgument& given, uint64_t& twice);
// Several files as one; a folder among them stands for the shards in it.
Result<Probe> probe_files(Store& store, std::string path, const std::vector<std::string>& names);
std::vector<std::string> paths_of(const std::string& folder, const std::vector<std::string>& names);

// The format with the highest score; null if none recognises it. Formats of one file are not asked about
// several.
const FormatInfo* surest(const Probe& probe);
// The format that recognises the path. A folder that none recognises is tried as a set of shards, an archive
// as a folder: `looked` is then what was tried.
Result<const FormatInfo*> recognise(Store& store, Probe& looked);
// The same for a format chosen by the user.
Status fit(const FormatInfo& info, Store& store, Probe& looked);
// The files that the format expects beside each of the files.
Status look_beside(const FormatInfo& info, Store& store, Probe& looked);

std::string known_formats();  // "array_record, arrow, …"

}  // namespace headrace
