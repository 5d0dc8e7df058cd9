// Hints of `inspect` when more could be read from the data.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/source.h"
#include "headrace/io/store.h"

namespace headrace::cli {

// One line per possible reader of labels for the images at `path`, which were read as `source`: "labels.json
// looks like …: hr.read_json_map(…)". Files are recognised by content, and only if they list an existing
// image. Also one line if all images are in one class, and one if the values of an LMDB are messages of Caffe
// or Caffe2.
std::vector<std::string> hints_for(const Source& source, const std::string& path, Store& store);

// For an LMDB whose values are messages of Caffe or Caffe2 and were read as bytes: "the values look like
// Caffe's Datum: --option values=datum parses them". "" for everything else. `flag`: "--option".
std::string hint_of_values(const Source& source, const std::string& path, Store& store,
                           const std::string& flag);

}  // namespace headrace::cli
