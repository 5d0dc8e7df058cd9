#include "headrace/formats/dataset/dataset_writer.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "headrace/core/text/text.h"
#include "headrace/formats/dataset/unfinished.h"
#include "headrace/formats/strings/utf8_strings.h"
#include "headrace/io/file_system.h"

namespace headrace {
namespace {

constexpr size_t kMostWaiting = size_t{64} << 20;  // bytes of samples that wait to be written
constexpr size_t kHandful = size_t{256} << 10;     // bytes of samples that are handed over together,
constexpr size_t kHandfulSamples = 256;            // or this many samples
constexpr size_t kMostThreads = 8;
constexpr uint64_t kSampleOverhead = 16;  // so that shards of empty samples end, too

uint64_t bytes_in(const std::vector<Tensor>& fields) {
  uint64_t sum = kSampleOverhead;
  for (const Tensor& field : fields) sum += field.view().size_bytes();
  return sum;
}

using Samples = std::vector<std::vector<Tensor>>;

struct Handful {
  Samples samples;
  uint64_t bytes = 0;
  bool is_last = false;  // of its shard
  Value after;           // if so: where the samples continue
};

// Limits the bytes that wait, and keeps the first failure. Any thread.
class Traffic {
 public:
  // Waits until there is room, or a failure.
  Status enter(uint64_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !failure_.ok() || waiting_ == 0 || waiting_ + bytes <= kMostWaiting; });
    waiting_ += bytes;
    return failure_;
  }
  void leave(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    waiting_ -= bytes;
    changed_.notify_all();
  }
  // Of two failures, that of the earlier shard is kept.
  void fail(uint64_t shard, Status status) {
    const std::lock_guard lock(mutex_);
    if (failure_.ok() || shard < failed_shard_) failure_ = std::move(status), failed_shard_ = shard;
    changed_.notify_all();
  }
  Status failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  mutable std::mutex mutex_;  // guards all
  std::condition_variable changed_;
  uint64_t waiting_ = 0, failed_shard_ = 0;
  Status failure_;
};

// A shard that is being written: its thread, and its queue.
class OpenShard {
 public:
  OpenShard(uint64_t number, std::string name, std::unique_ptr<FileWriter> file, UnfinishedDataset& target,
            Traffic& traffic)
      : number_(number), file_(std::move(file)), target_(target), traffic_(traffic) {
    entry_.name = std::move(name);
    thread_ = std::thread([this] { run(); });
  }
  ~OpenShard() {
    push(std::nullopt);
    thread_.join();
  }
  OpenShard(const OpenShard&) = delete;
  OpenShard& operator=(const OpenShard&) = delete;

  void push(std::optional<Handful> handful) {  // nothing: abort
    const std::lock_guard lock(mutex_);
    if (handful)
      queue_.push_back(*std::move(handful));
    else
      given_up_ = true;
    changed_.notify_all();
  }
  bool is_done() const {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_; });
  }
  uint64_t number() const { return number_; }
  const std::vector<uint64_t>& hashes() const { return hashes_; }  // REQUIRES: is_done()

 private:
  std::optional<Handful> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return given_up_ || !queue_.empty(); });
    if (given_up_) return std::nullopt;
    Handful out = std::move(queue_.front());
    queue_.pop_front();
    return out;
  }

  void run() {
    Status status;
    try {
      status = write();
    } catch (const std::exception& error) {  // out of memory
      status = Status(Code::exhausted, std::string("write: ") + error.what());
    }
    if (!status.ok()) traffic_.fail(number_, std::move(status));
    const std::lock_guard lock(mutex_);
    for (const Handful& left : queue_) traffic_.leave(left.bytes);
    queue_.clear();
    done_ = true;
    changed_.notify_all();
  }

  Status write() {
    const std::unique_ptr<FileWriter> file = std::move(file_);
    while (std::optional<Handful> handful = pop()) {
      Status status = add(*file, handful->samples);
      handful->samples.clear();
      traffic_.leave(handful->bytes);
      HEADRACE_TRY(std::move(status));
      if (!handful->is_last) continue;
      HEADRACE_TRY(file->finish());
      entry_.samples = hashes_.size();
      entry_.xxh3_128 = shard_hash(hashes_), entry_.sum = hash_sum(hashes_);
      return target_.finish_shard(number_, {entry_, std::move(handful->after)});
    }
    return {};
  }

  Status add(FileWriter& file, const Samples& samples) {
    for (const std::vector<Tensor>& fields : samples) {
      if (Status status = file.add(fields); !status.ok())
        return std::move(status).before("sample " + std::to_string(hashes_.size()) + " of shard " +
                                        in_quotes(entry_.name) + ": ");
      const std::vector<Tensor>* read = file.as_read();
      hashes_.push_back(sample_hash(read ? *read : fields));
    }
    return {};
  }

  const uint64_t number_;
  std::unique_ptr<FileWriter> file_;
  UnfinishedDataset& target_;
  Traffic& traffic_;
  ShardEntry entry_;  // used by the thread only, as is the next one
  std::vector<uint64_t> hashes_;
  mutable std::mutex mutex_;  // guards the next ones
  std::condition_variable changed_;
  std::deque<Handful> queue_;
  bool given_up_ = false, done_ = false;
  std::thread thread_;
};

class DatasetWriterImpl final : public DatasetWriter {
 public:
  DatasetWriterImpl(WriterRequest request, ChosenWriter chosen, std::unique_ptr<UnfinishedDataset> target)
      : request_(std::move(request)),
        strings_(request_.schema),
        chosen_(std::move(chosen)),
        target_(std::move(target)) {
    if (request_.threads == 0)
      request_.threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 2, kMostThreads);
    const auto& wanted = target_->wanted();
    stem_ = name_of(wanted.target);
    if (stem_.ends_with(chosen_.ending)) stem_.resize(stem_.size() - chosen_.ending.size());
    plan_shard();
  }

  Status add(std::vector<Tensor> fields) override {
    HEADRACE_TRY(check(fields));
    if (!current_) HEADRACE_TRY(begin_shard());
    const uint64_t bytes = bytes_in(fields);
    handful_.samples.push_back(std::move(fields));
    handful_.bytes += bytes, filled_ += bytes, ++position_;
    if (handful_.bytes < kHandful && handful_.samples.size() < kHandfulSamples) return {};
    return hand_over();
  }

  bool is_shard_full() const override {
    if (target_->wanted().form != Form::shards) return false;
    const DatasetOptions& options = request_.options;
    if (options.shards > 0) return shard_ < options.shards && position_ == last_of_shard_;
    return options.shard_size > 0 && filled_ >= options.shard_size;
  }

  Status end_shard(Value after) override {
    if (!current_) HEADRACE_TRY(begin_shard());
    handful_.is_last = true, handful_.after = std::move(after);
    HEADRACE_TRY(hand_over());
    current_ = nullptr;
    next_shard();
    return {};
  }

  std::optional<Value> skip_finished() override {
    std::optional<Value> after;
    const auto& finished = target_->finished();
    for (auto it = finished.find(shard_); !current_ && it != finished.end(); it = finished.find(shard_)) {
      after = it->second.after;
      position_ += it->second.entry.samples;
      ++reused_, reused_bytes_ += it->second.entry.bytes;
      next_shard();
    }
    return after;
  }
  uint64_t position() const override { return position_; }

  void note(const Value& line) override { target_->note(line); }
  const std::vector<Value>& notes() const override { return target_->notes(); }

  Status close() override {
    if (is_closed_) return {};
    while (request_.options.shards > shard_ || current_ || shard_ == 0) {
      HEADRACE_TRY(end_shard(Value()));  // the last one, and those that got no sample
    }
    for (const auto& shard : open_) shard->wait();
    HEADRACE_TRY(traffic_.failure());
    collect(0);
    HEADRACE_TRY(target_->write_over_all(manifest()));
    closed_.data = target_->made();
    for (const auto& [number, shard] : target_->shards()) closed_.shards.push_back(shard.entry);
    closed_.hashes.resize(shard_);
    for (auto& [number, hashes] : hashes_) closed_.hashes[number] = std::move(hashes);
    is_closed_ = true;
    return {};
  }
  const Closed& closed() const override { return closed_; }

  Result<Written> finish(const std::string& quarantine) override {
    HEADRACE_TRY(close());
    std::map<std::string, std::string> reports;
    if (!quarantine.empty()) reports["quarantine.json"] = quarantine;
    HEADRACE_ASSIGN(Manifest written, target_->commit(manifest(), reports));
    return Written{std::move(written), reused_, reused_bytes_, target_->discarded()};
  }

  Status discard() override {
    for (const auto& shard : open_) shard->push(std::nullopt);
    open_.clear();
    current_ = nullptr;
    return target_->discard();
  }

  const WriterInfo& format() const override { return *chosen_.info; }
  Value read_with() const override {
    return chosen_.info->read_with ? chosen_.info->read_with(write_request("")) : Value();
  }

 private:
  // Without shards and files.
  Manifest manifest() const {
    Manifest out;
    out.format = chosen_.info->name, out.options = chosen_.options, out.read_with = read_with();
    out.schema = request_.schema, out.metadata = request_.metadata;
    return out;
  }

  Status check(const std::vector<Tensor>& fields) const {
    const Schema& schema = request_.schema;
    if (fields.size() != schema.size())
      return invalid({.expected = std::to_string(schema.size()) + " fields",
                      .got = std::to_string(fields.size())})
          .in_op("write");
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].is_ragged())
        return invalid({.expected = "one array per sample",
                        .got = "a batch of rows",
                        .fix = "write before batch(), or call unbatch()"})
            .in_field(schema.names[i])
            .in_op("write");
      if (!schema.specs[i].admits(fields[i].view().spec()))
        return invalid({.expected = schema.specs[i].text(), .got = fields[i].view().spec().text()})
            .in_field(schema.names[i])
            .in_op("write");
    }
    // Nothing that other readers would refuse is written, whatever the format.
    Status status = strings_.check(fields);
    return status.ok() ? status
                       : std::move(status)
                             .with({.sample = position_})
                             .before("sample " + std::to_string(position_) + ": ")
                             .in_op("write");
  }

  std::string shard_name() const {
    const NewDataset& wanted = target_->wanted();
    if (wanted.form != Form::shards) return name_of(wanted.target);
    char number[64];
    if (request_.options.shards > 0)
      std::snprintf(number, sizeof number, "-%05llu-of-%05llu", static_cast<unsigned long long>(shard_),
                    static_cast<unsigned long long>(request_.options.shards));
    else
      std::snprintf(number, sizeof number, "%05llu", static_cast<unsigned long long>(shard_));
    return (request_.options.shards > 0 ? stem_ : "") + number + chosen_.ending;
  }

  WriteRequest write_request(std::string path) const {
    WriteRequest out;
    out.options = chosen_.options, out.schema = request_.schema;
    out.metadata = request_.metadata, out.path = std::move(path);
    return out;
  }

  Status begin_shard() {
    HEADRACE_TRY(traffic_.failure());
    collect(request_.threads - 1);
    auto file = chosen_.info->make(write_request(target_->path_of(shard_name())));
    if (!file.ok()) {
      // A schema that the format cannot store is an error of the first sample, and leaves nothing behind.
      if (open_.empty() && target_->shards().empty()) HEADRACE_TRY(target_->discard());
      return file.status();
    }
    open_.push_back(std::make_unique<OpenShard>(shard_, shard_name(), *std::move(file), *target_, traffic_));
    current_ = open_.back().get();
    return {};
  }

  Status hand_over() {
    const uint64_t bytes = handful_.bytes;
    if (Status status = traffic_.enter(bytes); !status.ok()) return status;
    current_->push(std::exchange(handful_, {}));
    return {};
  }

  // Waits until at most `most` shards are being written.
  void collect(size_t most) {
    while (!open_.empty() && (open_.size() > most || open_.front()->is_done())) {
      open_.front()->wait();
      hashes_[open_.front()->number()] = open_.front()->hashes();
      open_.pop_front();
    }
  }

  void next_shard() {
    ++shard_;
    filled_ = 0;
    plan_shard();
  }
  void plan_shard() {
    const DatasetOptions& options = request_.options;
    if (options.shards == 0 || !request_.num_samples) return;
    const auto samples = static_cast<unsigned __int128>(*request_.num_samples);
    last_of_shard_ = static_cast<uint64_t>(samples * (shard_ + 1) / options.shards);
  }

  WriterRequest request_;
  const StringFields strings_;
  const ChosenWriter chosen_;
  std::string stem_;
  Traffic traffic_;
  std::unique_ptr<UnfinishedDataset> target_;
  std::deque<std::unique_ptr<OpenShard>> open_;  // in their order; they use the members above
  OpenShard* current_ = nullptr;
  Handful handful_;     // of the current shard, not yet handed over
  uint64_t shard_ = 0;  // the current one, or the next
  uint64_t position_ = 0, filled_ = 0, last_of_shard_ = 0, reused_ = 0, reused_bytes_ = 0;
  std::map<uint64_t, std::vector<uint64_t>> hashes_;
  Closed closed_;
  bool is_closed_ = false;
};

Result<Form> form_of(const WriterInfo& info, const WriterRequest& request) {
  const DatasetOptions& options = request.options;
  if (options.shards > 0 && options.shard_size > 0)
    return invalid({.expected = "shards or shard_size", .got = "both"});
  if (options.shards > 0 && !request.num_samples)
    return invalid(
        "shards needs a known number of samples, but filter, unbatch or on_error(\"skip\") makes it unknown; "
        "use shard_size instead");
  if (options.shards == 0 && options.shard_size == 0 && !info.over_all.text) return Form::one;
  if (info.ending.empty()) return invalid(info.name + " is written as one folder and has no shards");
  return Form::shards;
}

bool makes_folder(const ChosenWriter& chosen, Form form) {
  if (form == Form::shards) return true;
  return chosen.info->is_folder ? chosen.info->is_folder({chosen.options}) : chosen.info->ending.empty();
}

}  // namespace

Result<std::unique_ptr<DatasetWriter>> DatasetWriter::make(const std::string& target, WriterRequest request) {
  const auto make = [&]() -> Result<std::unique_ptr<DatasetWriter>> {
    HEADRACE_ASSIGN(ChosenWriter chosen,
                    choose_writer(target, request.options.format, request.options.options));
    HEADRACE_ASSIGN(const Form form, form_of(*chosen.info, request));
    if (request.options.shards == 0 && request.options.shard_size == 0)
      request.options.shard_size = chosen.info->over_all.shard_size;
    NewDataset wanted{target, form, chosen.info, makes_folder(chosen, form), {}, request.options.overwrite};
    if (!request.identity.is_null())
      wanted.identity = Value::Object{{"samples", request.identity},
                                      {"format", chosen.info->name},
                                      {"options", chosen.options},
                                      {"schema", schema_to_value(request.schema)},
                                      {"metadata", request.metadata},
                                      {"shards", request.options.shards},
                                      {"shard_size", request.options.shard_size}};
    HEADRACE_ASSIGN(auto place, UnfinishedDataset::begin(std::move(wanted)));
    return std::unique_ptr<DatasetWriter>(
        std::make_unique<DatasetWriterImpl>(std::move(request), std::move(chosen), std::move(place)));
  };
  auto made = make();
  if (!made.ok()) return made.status().in_op("write");
  return made;
}

}  // namespace headrace
