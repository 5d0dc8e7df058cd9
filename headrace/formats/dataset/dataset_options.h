// How a dataset is written, and what was written.
#pragma once
#include <cstdint>
#include <string>

#include "headrace/core/value.h"
#include "headrace/formats/dataset/manifest.h"

namespace headrace {

struct DatasetOptions {
  std::string format;       // "": from the target's ending
  Value options;            // of the format
  uint64_t shard_size = 0;  // bytes of samples; 0: a single file
  uint64_t shards = 0;      // number of shards; 0: not given
  bool overwrite = false;   // replace a data set that we wrote; any other is refused
};

struct Written {
  Manifest manifest;
  uint64_t reused_shards = 0;  // finished by an earlier, stopped run
  uint64_t reused_bytes = 0;   // of these shards
  std::string discarded;       // why its work was not reused; "" if it was, or there was none
};

}  // namespace headrace
