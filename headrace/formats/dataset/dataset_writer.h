// Samples in, a data set out: chooses the format, divides the samples into shards, and encodes and writes
// them in the background. unfinished.h handles crashes.
//
//   HEADRACE_ASSIGN(const auto writer, DatasetWriter::make("out.tfrecord", {.schema = schema}));
//   for (…) HEADRACE_TRY(writer->add(fields));
//   HEADRACE_ASSIGN(const Written written, writer->finish());
//
// Where a shard ends depends on the samples only: a shard of `shard_size` ends with the sample that fills it,
// one of `shards` after its share of the samples.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/dataset/dataset_options.h"
#include "headrace/formats/writer.h"

namespace headrace {

struct WriterRequest {
  Schema schema;  // of the samples to be added
  DatasetOptions options = {};
  Value metadata = {};                                 // see WriteRequest
  std::optional<uint64_t> num_samples = std::nullopt;  // if known; required by `shards`
  // Must be equal for the shards of an earlier, stopped run to be reused; null: they never are.
  Value identity = {};
  size_t threads = 0;  // for encoding and writing, one per shard; 0: chosen automatically
};

// For one thread.
class DatasetWriter {
 public:
  static Result<std::unique_ptr<DatasetWriter>> make(const std::string& target, WriterRequest request);
  virtual ~DatasetWriter() = default;  // without finish(): work that the next run can continue stays

  // Waits while too much is queued. An error may be that of an earlier sample; it ends the writing.
  virtual Status add(std::vector<Tensor> fields) = 0;
  // The last sample has filled its shard: call end_shard() with the position where the samples continue.
  virtual bool is_shard_full() const = 0;
  virtual Status end_shard(Value after) = 0;
  // Skips shards that an earlier run finished and returns where the samples continue after them, as passed to
  // end_shard(); null at the end of all samples. Nothing if the shard of the next sample is not finished.
  // Call it before the first sample and after each end_shard().
  virtual std::optional<Value> skip_finished() = 0;
  virtual uint64_t position() const = 0;  // samples before the next one, including those of skipped shards

  // Stores a line for the next run, in case this one is stopped, together with the next finished shard; and
  // the lines of earlier runs.
  virtual void note(const Value& line) = 0;
  virtual const std::vector<Value>& notes() const = 0;

  // Completes all shards on disk, not yet under their final name. closed() describes them.
  virtual Status close() = 0;
  struct Closed {
    std::string data;  // what becomes the target
    std::vector<ShardEntry> shards;
    // Per shard, the hash of each sample; empty for a skipped shard.
    std::vector<std::vector<uint64_t>> hashes;
  };
  virtual const Closed& closed() const = 0;
  // Makes the data set appear under its name; closes it first if needed. `quarantine`: a report to store next
  // to it, or "".
  virtual Result<Written> finish(const std::string& quarantine = "") = 0;
  virtual Status discard() = 0;  // stops and removes everything, so that the next run starts over

  virtual const WriterInfo& format() const = 0;
  virtual Value read_with() const = 0;  // see WriterInfo
};

}  // namespace headrace
