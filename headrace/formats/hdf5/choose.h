// Selects the datasets of a file that are the fields of its samples. Pure; any thread.
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

// The group to read if none is given.
Result<std::string> find_group(const Contents& contents);
// An error unless all have the same number of rows.
Result<std::vector<Chosen>> choose(const Contents& contents, const std::string& group,
                                   const std::vector<std::string>& fields);

}  // namespace headrace::hdf5
