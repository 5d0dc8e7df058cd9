// Which files of a folder are the shards of one data set. Pure; any thread.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/value.h"
#include "headrace/formats/source.h"
#include "headrace/io/store.h"

namespace headrace {

struct Shards {
  std::vector<std::string> names;  // relative to the folder, sorted
  // {"files": 2, "endings": {".txt": 2}}; null if there are none. With "copies", {"files": 1, "first":
  // "x.csv.gz"}, if some are compressed copies of others.
  Value left_out;
};
// The files of the most common kind in the folder itself, not below it, except for
// "x-00012-of-00100.lmdb/data.mdb": shards of LMDB are folders. Left out, and counted, are files of other
// kinds and those that accompany data: indexes, lists, descriptions and checksums (.idx, .lst, .json, .md5);
// also .csv, .tsv, .txt, .jsonl and .ndjson, unless there is nothing else, and a compressed copy of a file
// beside it. Names that begin with a dot or an underscore are not even counted.
Result<Shards> shards_of(const Listing& listing);

// Whether the name of a file states how many there are: "x-00003-of-00012.tar".
bool says_how_many(const std::string& path);
// Whether the file at a path would have been read if it existed.
using IsAsked = std::function<bool(const std::string& path)>;
// "1 of 12 shards is missing: 'x-00007-of-00012.tar'"; `names`: the first missing ones.
std::string missing_text(std::span<const std::string> names, uint64_t missing, uint64_t of);
// The message above for the missing files of numbered sets, "x-00003-of-00012.tar"; empty if all requested
// files exist, or no name is numbered.
std::string missing_shards(const std::vector<std::string>& paths, const IsAsked& is_asked = {});
// "2 sets of shards: 'train-*-of-00012.tar', 'val-*-of-00002.tar'", as patterns; empty if there are fewer
// than two.
std::string several_sets(const std::vector<std::string>& paths);

}  // namespace headrace
