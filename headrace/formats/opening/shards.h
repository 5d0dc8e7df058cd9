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
  Value left_out;                  // {"files": 2, "endings": {".txt": 2}}; null when there is none
};
// The files of the commonest kind in the folder itself, not below it, but for
// "x-00012-of-00100.lmdb/data.mdb": LMDB's shards are folders. Left out, and counted, are those of other
// kinds and what lies beside data: indexes, lists, descriptions and checksums (.idx, .lst, .json, .md5);
// .csv, .tsv, .txt, .jsonl and .ndjson, too, unless there is nothing else.
// Names that begin with a dot or an underscore are not counted either.
Result<Shards> shards_of(const Listing& listing);

// Whether a file's name does: "x-00003-of-00012.tar".
bool says_how_many(const std::string& path);
// Of a path: whether somebody wants the file, should it be there.
using IsAsked = std::function<bool(const std::string& path)>;
// "1 of 12 shards is missing: 'x-00007-of-00012.tar'"; `names`: the first of them.
std::string missing_text(std::span<const std::string> names, uint64_t missing, uint64_t of);
// What is not there of sets of files that say how many they are, "x-00003-of-00012.tar": for people, as
// above; empty when all that are asked for are there, or no name says so.
std::string missing_shards(const std::vector<std::string>& paths, const IsAsked& is_asked = {});
// "2 sets of shards: 'train-*-of-00012.tar', 'val-*-of-00002.tar'", as patterns; empty where there are no
// two.
std::string several_sets(const std::vector<std::string>& paths);

}  // namespace headrace
