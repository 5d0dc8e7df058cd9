// What `inspect` finds out about data: counts and distributions over samples spread evenly over all of them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/input/examples.h"
#include "cli/input/sample_reader.h"
#include "cli/look/broken.h"

namespace headrace::cli {

struct Survey {
  uint64_t size = 0;    // samples there are
  uint64_t looked = 0;  // samples looked at
  std::vector<uint64_t>
      bytes;  // encoded size of each good sample's image field, sorted; or of all its fields
  std::vector<int64_t> heights, widths;                        // of the images, sorted
  std::map<std::pair<int64_t, int64_t>, uint64_t> dimensions;  // (height, width) -> how many
  std::map<std::string, uint64_t> kinds;                       // "JPEG, 3 channels" -> how many
  uint64_t turned = 0;  // images with an EXIF orientation other than upright
  int label_field = -1;
  std::map<int64_t, uint64_t> labels;  // label -> how many
  FeatureSurvey features;              // of the tf.train.Examples in a field
  std::vector<Broken> broken;          // in order of index
};

// Look at `count` samples, headers only. `progress` on stderr when it is a terminal.
Survey survey(const SampleReader& reader, uint64_t count, size_t workers);

}  // namespace headrace::cli
