// dataset_info.json of TensorFlow Datasets: the splits, their files, and the number of samples in each file.
// Pure; any thread.
#pragma once
#include <string>
#include <vector>

#include "headrace/core/value.h"
#include "headrace/formats/prepared/splits.h"

namespace headrace {

struct TfdsSplit {
  std::string name, file_template;
  std::vector<uint64_t> shards;  // samples of each file
  uint64_t size = 0;             // of all

  std::string file(const std::string& dataset, const std::string& format, size_t shard) const;
};

struct TfdsInfo {
  std::string name, file_format;
  std::vector<TfdsSplit> splits;

  static Result<TfdsInfo> parse(const Value& info);
  std::string split_names() const;  // for messages
};

// The files that a split needs, each once, and the ranges of their samples.
struct TfdsFiles {
  std::vector<std::string> names;
  std::vector<uint64_t> counts;  // samples of each
  uint64_t size = 0;             // of all
  std::vector<SplitRows> ranges;
};
// `split` in the syntax of parse_splits; "" is the only split, "all" all of them.
Result<TfdsFiles> files_of_split(const TfdsInfo& info, const std::string& split);

}  // namespace headrace
