// A plan's samples as a data set on disk: runs the plan, and writes what it gives in the order it gives it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/dataset/dataset_writer.h"
#include "headrace/graph/node.h"
#include "headrace/run/loader.h"

namespace headrace {

class Store;

struct WriteProgress {
  enum class Phase : uint8_t { writing, finishing, verifying } phase = Phase::writing;
  uint64_t samples = 0, bytes = 0;  // of samples, those of reused shards among them
  std::optional<uint64_t> total;    // samples, when it is known
  uint64_t written = 0;             // samples of this run
};

struct WriteOptions : DatasetOptions {
  LoaderOptions loader = {};  // the seed of operators, threads, memory
  // Leave out samples that fail, and list them in quarantine.json beside the data. Without, the first ends
  // all.
  bool drop_broken = false;
  // Decode every image, so that those that do not decode fail; their bytes are written as they are.
  bool check_images = false;
  // Read all of it back, and compare each sample's hash, before the data set appears.
  bool verify = false;
  // Called some twenty times a second; false stops: finished shards stay for the next run of the same kind.
  std::function<bool(const WriteProgress&)> progress = {};
};

struct WriteReport : Written {
  uint64_t broken = 0;                // samples left out
  std::vector<std::string> warnings;  // of the data, as Loader::warnings()
};

// A run that was stopped or killed goes on from its last finished shard when the same is written again.
Result<WriteReport> write_dataset(const NodePtr& plan, const std::string& target, const WriteOptions& options,
                                  const std::shared_ptr<Store>& store);

}  // namespace headrace
