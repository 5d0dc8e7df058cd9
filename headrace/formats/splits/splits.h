// The splits of a data set that lie side by side in a folder: files ("train.csv", "test.csv"), folders
// ("train/cat/1.jpg", "val/…"), at any level, and the layouts of MNIST, CIFAR and COCO as they are
// downloaded. Pure; any thread.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/core/value.h"
#include "headrace/formats/split_names.h"
#include "headrace/io/store.h"

namespace headrace {

struct Split {
  std::string name;                // as the folder has it: "train", "val2017"
  std::vector<std::string> paths;  // files or folders, relative to the folder
  std::string format = {};         // empty: recognised
  Value::Object options = {};      // with paths relative to the folder, see `option_paths`
  std::vector<std::string> option_paths = {};
  bool are_folders = false;
  SplitKind kind = SplitKind::other;
  std::optional<std::string> images_in = std::nullopt;  // the paths are some of the images in this folder
  std::vector<std::string> notes = {};                  // what is left out of it
  std::vector<std::string> overlaps = {};               // splits with some of the same samples
};

struct Splits {
  std::vector<Split> all;  // sorted by name
  // Whether to read all of them as one is refused: at least two of them, and nothing beside them that makes
  // their names doubtful.
  bool are_certain = false;
  // If not: whether they are likely to be splits, and a folder or file beside them that is none.
  bool are_likely = false;
  std::string beside = {};
  // Folders of several data sets, each with splits; `all` is empty.
  std::vector<std::string> data_sets = {};
  std::vector<std::string> names_in_first = {};  // those of the splits of the first of them
};
Splits find_splits(const Listing& listing);

// Those that split= names: "train", a list of names, or "all". An exact name is preferred to another of the
// same kind ("val" for "validation").
Result<std::vector<Split>> choose_splits(const Splits& splits, const Value& wanted);

// `"test", "train"`, for messages.
std::string split_names_text(const Splits& splits);

}  // namespace headrace
