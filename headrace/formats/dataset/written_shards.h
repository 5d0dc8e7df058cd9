// What the manifest next to data records about the samples of each shard, so that a reader of all samples
// (`headrace verify`) can check that they are those that were written. One thread.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/source.h"
#include "headrace/io/store.h"

namespace headrace {

struct WrittenShard {
  std::string path;
  uint64_t samples = 0;
  uint64_t sum = 0;  // of the sample_hash() of each
};

// In the order of the source and its samples; empty if no manifest lists all of its files, samples are
// missing, or the options differ from those it was written to be read with.
std::vector<WrittenShard> written_shards(Store& store, const Source& source);

}  // namespace headrace
