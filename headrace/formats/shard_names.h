// File names of numbered shards: "train-00012-of-00100.tfrecord.gz". Pure; any thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

// The parts of "train-00012-of-00100.x".
struct NumberedName {
  std::string before, number, of, after;  // "train-", "00012", "00100", ".x"
};
// Nothing if the name has no number.
std::optional<NumberedName> numbered(const std::string& name);
// "train.x"; unchanged if it has no number.
std::string without_number(const std::string& name);

// The kind of shard that a name stands for: its ending in lower case, without that of a compression and
// without "-00012-of-00100"; "" if there is none. ".tfrecord" of "x.tfrecord-00000-of-00010" and
// "train-00001-of-00002.tfrecord.gz".
std::string shard_kind(std::string_view name);

// Files that Headrace stores with data that it wrote or indexed, by their path below the folder.
bool is_our_own(std::string_view name);
// Whether files of this kind lie beside data: indexes, lists, descriptions and checksums. Of
// these, some are data where there is nothing else: .csv, .tsv, .txt, .jsonl and .ndjson.
bool is_beside_data(std::string_view kind);
bool is_text_data(std::string_view kind);

}  // namespace headrace
