// Samples in, a data set out: chooses the format, divides the samples into shards, and encodes and writes
// them in the background. What a crash leaves is the business of unfinished.h.
//
//   HEADRACE_ASSIGN(const auto writer, DatasetWriter::make("out.tfrecord", {.schema = schema}));
//   for (…) HEADRACE_TRY(writer->add(fields));
//   HEADRACE_ASSIGN(const Written written, writer->finish());
//
// Where a shard ends is a function of the samples alone: a shard of `shard_size` ends with the sample that
// fills it, one of `shards` after its share of the samples.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/dataset/manifest.h"
#include "headrace/formats/writer.h"

namespace headrace {

struct DatasetOptions {
  std::string format;       // "": as the target's ending says
  Value options;            // of the format
  uint64_t shard_size = 0;  // bytes of samples; 0: there is one file
  uint64_t shards = 0;      // how many; 0: not given
  bool overwrite = false;   // a data set that we wrote; any other is refused
};

struct WriterRequest {
  Schema schema;  // of the samples to come
  DatasetOptions options = {};
  Value metadata = {};                                 // see WriteRequest
  std::optional<uint64_t> num_samples = std::nullopt;  // when it is known, which `shards` wants
  // What must be the same for an earlier, stopped run's shards to be used; null: they never are.
  Value identity = {};
  size_t threads = 0;  // that encode and write, one a shard; 0: chosen
};

struct Written {
  Manifest manifest;
  uint64_t reused_shards = 0;  // that an earlier, stopped run had finished,
  uint64_t reused_bytes = 0;   // and their bytes
  std::string discarded;       // why its work was not used; "" when it was or there was none
};

// For one thread.
class DatasetWriter {
 public:
  static Result<std::unique_ptr<DatasetWriter>> make(const std::string& target, WriterRequest request);
  virtual ~DatasetWriter() = default;  // without finish(): what the next run can go on from stays

  // Waits while much is under way. An error may be of an earlier sample; it ends the writing.
  virtual Status add(std::vector<Tensor> fields) = 0;
  // The last sample has filled its shard: end_shard() wants to know where the samples go on.
  virtual bool is_shard_full() const = 0;
  virtual Status end_shard(Value after) = 0;
  // Passes over shards that an earlier run finished: where the samples go on behind them, as it was told;
  // null at the end of all samples. Nothing when the next sample's shard is not there. To be asked before the
  // first sample and after each end_shard().
  virtual std::optional<Value> skip_finished() = 0;
  virtual uint64_t position() const = 0;  // samples before the next, those of skipped shards among them

  // Remembered for the next run, should this one be stopped, with the shard that is finished next; and what
  // earlier ones remembered.
  virtual void note(const Value& line) = 0;
  virtual const std::vector<Value>& notes() const = 0;

  // All shards are on disk, and not yet under their name. `written()` says what there is then.
  virtual Status close() = 0;
  struct Closed {
    std::string data;  // what the target will be
    std::vector<ShardEntry> shards;
    // Of each sample of each shard; none of a shard that was passed over.
    std::vector<std::vector<uint64_t>> hashes;
  };
  virtual const Closed& closed() const = 0;
  // The data set appears; closes it when need be. `quarantine`: a report to put beside it, or "".
  virtual Result<Written> finish(const std::string& quarantine = "") = 0;
  virtual Status discard() = 0;  // stops; nothing is left, for the next run neither

  virtual const WriterInfo& format() const = 0;
  virtual Value read_with() const = 0;  // see WriterInfo
};

}  // namespace headrace
