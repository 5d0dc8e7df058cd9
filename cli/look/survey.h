// The statistics of `inspect`: counts and distributions over evenly spread samples.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/input/examples.h"
#include "cli/input/sample_reader.h"
#include "cli/look/broken.h"

namespace headrace::cli {

struct Survey {
  uint64_t size = 0;    // samples in the data
  uint64_t looked = 0;  // samples looked at
  // Encoded size of each good sample's image, or of all its fields; sorted.
  std::vector<uint64_t> bytes;
  std::vector<int64_t> heights, widths;                        // of the images, sorted
  std::map<std::pair<int64_t, int64_t>, uint64_t> dimensions;  // (height, width) -> count
  std::map<std::string, uint64_t> kinds;                       // "JPEG colour" -> count
  uint64_t turned = 0;  // images with an EXIF orientation other than upright
  int label_field = -1;
  std::map<int64_t, uint64_t> labels;  // label -> count
  FeatureSurvey features;              // of the tf.train.Examples in a field
  std::vector<Broken> broken;          // in order of index
};

// Look at `count` samples, headers only. Shows progress on stderr if it is a terminal.
Survey survey(const SampleReader& reader, uint64_t count, size_t workers);

}  // namespace headrace::cli
