// What `inspect` says when there is more to be had from data than was read.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/source.h"
#include "headrace/io/store.h"

namespace headrace::cli {

// One line a reader of labels for the images at `path`, which were read as `source`: "labels.json looks like
// …: hr.read_json_map(…)". Files count by their content, and only when they name an image that is there. One
// line too when all images are of one class, and one when the values of an LMDB are messages of Caffe or
// Caffe2.
std::vector<std::string> hints_for(const Source& source, const std::string& path, Store& store);

// Of an LMDB whose values are messages of Caffe or Caffe2 and were read as bytes: "the values look like
// Caffe's Datum: --option values=datum reads what is in them". "" of all else. `flag`: "--option".
std::string hint_of_values(const Source& source, const std::string& path, Store& store,
                           const std::string& flag);

}  // namespace headrace::cli
