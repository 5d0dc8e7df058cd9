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

}  // namespace headrace
