// What `inspect` says when labels lie beside images that were read without them.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/source.h"
#include "headrace/io/store.h"

namespace headrace::cli {

// One line a reader of labels for the images at `path`, which were read as `source`: "labels.json looks like
// …: hr.read_json_map(…)". Files count by their content, and only when they name an image that is there. One
// line too when all images are of one class. None when the source is no folder of images.
std::vector<std::string> label_hints(const Source& source, const std::string& path, Store& store);

}  // namespace headrace::cli
