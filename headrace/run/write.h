// Writes the samples of a plan as a data set on disk: runs the plan, and writes its elements in order.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/dataset/dataset_options.h"
#include "headrace/graph/handles.h"
#include "headrace/run/loader.h"

namespace headrace {

struct WriteProgress {
  enum class Phase : uint8_t { writing, finishing, verifying } phase = Phase::writing;
  uint64_t samples = 0, bytes = 0;  // including those of reused shards
  std::optional<uint64_t> total;    // samples, if known
  uint64_t written = 0;             // samples of this run
};

struct WriteOptions : DatasetOptions {
  LoaderOptions loader = {};  // the seed of operators, threads, memory
  // Leave out samples that fail, and list them in quarantine.json next to the data. Otherwise the first
  // failure ends the run.
  bool drop_broken = false;
  // Decode every image, so that samples whose image does not decode fail; bytes are written unchanged.
  bool check_images = false;
  // Read everything back, and compare each sample's hash, before the data set appears.
  bool verify = false;
  // Called about twenty times a second; returning false stops. A later run of the same write reuses finished
  // shards.
  std::function<bool(const WriteProgress&)> progress = {};
};

struct WriteReport : Written {
  uint64_t broken = 0;                // samples left out
  std::vector<std::string> warnings;  // as Loader::warnings()
};

// If a run was stopped or killed, writing the same data again continues after its last finished shard.
Result<WriteReport> write_dataset(const NodePtr& plan, const std::string& target, const WriteOptions& options,
                                  const std::shared_ptr<Store>& store);

}  // namespace headrace
