// Which names of files and folders are those of splits: "train.jsonl", "imagenet-val-000003.tar",
// "x_test.npy", "seg_train", "train2017", "t10k-images-idx3-ubyte". Pure; any thread.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/core/value.h"

namespace headrace {

// What splits are for. Names differ ("val", "valid", "dev"), so a split is also found by another name of its
// kind. Others are splits only beside one of these: "extra", "unlabeled".
enum class SplitKind { train, validation, test, other };

struct SplitName {
  SplitKind kind;
  // The word as it is written, with a year or letter that belongs to it: "train", "Val", "train2017",
  // "trainA".
  std::string name;
  // The rest of the name without numbers, in lower case: "x_*" for "x_train.npy", "*" for "train-00001.tar".
  // Names of one data set have the same, apart from those that are just the word.
  std::string rest;

  bool is_bare() const { return rest == "*"; }
};
// Nothing if no word of the name is that of a split, or two kinds are. An extension is not part of the name.
std::optional<SplitName> split_name(std::string_view name, bool is_folder);
// What a name may mean if another one beside it differs in the word alone, "mytrain" and "mytest",
// "trainimages" and "testimages": nothing in one of them says that the word is one.
std::vector<SplitName> joined_split_names(std::string_view name, bool is_folder);
// The kind of a word that a user gives: "val", "validation". Nothing if it is not one of ours, or says more:
// "trainval", "train2017", "train[:10%]".
std::optional<SplitKind> split_kind(std::string_view word);

// A split that there is to choose from.
struct KnownSplit {
  std::string name;
  SplitKind kind = SplitKind::other;
};
// `names` with the kinds that they say.
std::vector<KnownSplit> known_kinds(const std::vector<std::string>& names);
// The split that a word means: the one of that name, else the only one of its kind ("val" is "validation").
std::optional<size_t> meant_split(std::span<const KnownSplit> all, std::string_view word);
// That a list names none of them twice, under any name. `chosen`: what each name of `wanted` means.
Status check_named_once(const Value::List& wanted, std::span<const std::string> chosen);

// The name without extensions and numbers: "dev_matched" of "dev_matched-00000-of-00002.tsv.gz".
std::string split_stem(std::string_view name);

}  // namespace headrace
