// Which datasets of a file are the fields of its samples. Pure; any thread.
#pragma once
#include <string>
#include <vector>

#include "headrace/core/tensor.h"
#include "headrace/formats/hdf5/structures/contents.h"

namespace headrace::hdf5 {

struct Chosen {
  std::string name;  // of the field: "targets", "obs/day"
  std::string path;  // of its dataset: "train/targets"
  size_t dataset = 0, leaf = 0;
  TensorSpec spec;
};

// The group that is meant when none is named.
Result<std::string> find_group(const Contents& contents);
// All of them have as many rows.
Result<std::vector<Chosen>> choose(const Contents& contents, const std::string& group,
                                   const std::vector<std::string>& fields);

}  // namespace headrace::hdf5
