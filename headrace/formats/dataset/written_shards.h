// What the manifest beside data says of the samples of each shard, for who reads all of them (`headrace
// verify`) and can tell then whether they are those that were written. One thread.
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

// In the order of the source, whose samples they are; empty where no manifest knows all of its files, some
// samples are missing, or it is read with other options than those it was written to be read with.
std::vector<WrittenShard> written_shards(Store& store, const Source& source);

}  // namespace headrace
