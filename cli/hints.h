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

}  // namespace headrace::cli
