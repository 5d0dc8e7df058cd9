#include "headrace/run/write.h"

#include <algorithm>
#include <chrono>

#include "headrace/core/stop_flag.h"
#include "headrace/run/body.h"
#include "headrace/run/check_images.h"
#include "headrace/run/read_back.h"

namespace headrace {
namespace {

constexpr uint64_t kWait = 50;  // ms between two calls of progress, at least

const Source* first_source(const Node& node) {
  if (const auto* read = node.as<Read>()) return read->source.get();
  return node.inputs.empty() ? nullptr : first_source(*node.inputs[0]);
}

// What encode_image did to the samples; the last one counts.
Value lossy_encoding(const Node& node) {
  if (const auto* map = node.as<Map>())
    for (const Call& call : map->program.steps)
      if (call.op->name() == "encode_image") return call.op->params();
  return node.inputs.empty() ? Value() : lossy_encoding(*node.inputs[0]);
}

// What the source says of itself and stays true of the copy; what was done to it.
Value metadata_of(const Node& plan) {
  Value out{Value::Object()};
  if (const Source* source = first_source(plan))
    if (const Value metadata = source->metadata(); metadata.object())
      for (const auto& [key, value] : *metadata.object())
        if (key != "left_out" && key != "problems") out.set(key, value);
  if (const Value lossy = lossy_encoding(plan); !lossy.is_null()) out.set("lossy", lossy);
  return out;
}

// The samples of a plan in their order. A run ends at whichever of the samples under way fails first, so
// where one failed, they are made one by one until it is clear which it was.
class Samples {
 public:
  Samples(NodePtr plan, LoaderOptions options, std::shared_ptr<Store> store, std::unique_ptr<Loader> loader)
      : plan_(std::move(plan)),
        options_(std::move(options)),
        store_(std::move(store)),
        loader_(std::move(loader)) {}

  std::optional<uint64_t> size() const { return loader_->size(); }
  void stop() { loader_->stop(); }
  // Where the next sample is.
  Result<Value> save() const { return one_by_one_ > 0 ? Result<Value>(here_) : loader_->save(); }
  Status go_on_from(const Value& state) {
    one_by_one_ = 0;
    return loader_->load(state);
  }

  // Nothing when none was there in time.
  Result<std::optional<bool>> next_within(Sample& out, uint64_t milliseconds) {
    if (one_by_one_ == 0) return loader_->next_within(out, milliseconds);
    HEADRACE_ASSIGN(const int64_t position, here_.get_integer("consumed"));
    if (static_cast<uint64_t>(position) == loader_->size()) return std::optional(false);
    HEADRACE_ASSIGN(out, elements_->at(static_cast<uint64_t>(position), 0));
    here_.set("consumed", position + 1);
    if (--one_by_one_ == 0) HEADRACE_TRY(loader_->load(here_));
    return std::optional(true);
  }

  // After an error: whether it was the next sample that failed. If not, those under way come again.
  Result<bool> is_clear() {
    if (one_by_one_ > 0) return true;
    HEADRACE_ASSIGN(here_, loader_->save());
    if (!elements_) {
      HEADRACE_ASSIGN(elements_, Elements::make(plan_, options_.seed, options_.memory_budget, store_));
    }
    one_by_one_ = kUnderWay;
    return false;
  }

 private:
  static constexpr uint64_t kUnderWay = 64;  // at least as many as a run has, or it is looked at twice

  NodePtr plan_;
  LoaderOptions options_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<Elements> elements_;
  uint64_t one_by_one_ = 0;  // samples to come so
  Value here_;               // then, where the next one is
};

// Whether the plan's fingerprint knows something by a name only: what a function, an array or a generator of
// Python is now, it may not be in the next run.
bool has_slots(const Node& node) {
  const auto is_slot = [](const Call& call) {
    const Value params = call.op->params();
    return params.find("slot") && !find_op(call.op->name());
  };
  const Program* program = program_of(node.kind);
  const auto* read = node.as<Read>();
  return node.as<Generate>() || (program && std::ranges::any_of(program->steps, is_slot)) ||
         (read && read->source->describe().find("slot")) ||
         std::ranges::any_of(node.inputs, [](const NodePtr& input) { return has_slots(*input); });
}

// Sizes and times of the files that are read. Looking at a file takes a fraction of reading it, which is to
// come.
void add_files(const Node& node, Store& store, std::string& out) {
  const auto* read = node.as<Read>();
  const uint64_t files = read ? read->source->num_files() : 0;
  for (uint64_t i = 0; i < files; ++i)
    if (const auto info = store.info(read->source->file(i)); info.ok())
      out += std::to_string(info->size) + " " + std::to_string(info->mtime_ns) + "\n";
  for (const NodePtr& input : node.inputs) add_files(*input, store, out);
}

// What must be the same for another run to go on from where this one was stopped; null: nothing tells.
Value identity_of(const Node& plan, const Loader& loader, const WriteOptions& options, Store& store) {
  const bool has_middle = options.shards > 0 || options.shard_size > 0;
  if (has_slots(plan) || !has_middle) return {};
  std::string files;
  add_files(plan, store, files);
  return Value::Object{
      {"plan", loader.fingerprint()}, {"files", hash_text(files)}, {"drop_broken", options.drop_broken}};
}

// One call of write_dataset().
class Copying {
 public:
  Copying(const WriteOptions& options, Samples samples, std::unique_ptr<DatasetWriter> writer)
      : options_(options), samples_(std::move(samples)), writer_(std::move(writer)) {
    progress_.total = samples_.size();
    for (const Value& note : writer_->notes()) broken_.push_back(note);
  }

  Result<WriteReport> run(const std::string& target) {
    HEADRACE_TRY(copy());
    samples_.stop();
    HEADRACE_TRY(tell(WriteProgress::Phase::finishing));
    HEADRACE_TRY(writer_->close());
    if (options_.verify)
      HEADRACE_TRY(read_back(*writer_, target, options_.loader, [&](uint64_t samples) {
        progress_.samples = samples;
        return tell(WriteProgress::Phase::verifying).ok();
      }));
    WriteReport out;
    HEADRACE_ASSIGN(static_cast<Written&>(out), writer_->finish(quarantine()));
    out.broken = broken_.size();
    return out;
  }

 private:
  Status copy() {
    while (true) {
      while (writer_->is_shard_full()) {
        HEADRACE_ASSIGN(Value here, samples_.save());
        HEADRACE_TRY(writer_->end_shard(std::move(here)));
      }
      HEADRACE_ASSIGN(const bool is_over, skip_finished());
      if (is_over) return {};
      Sample sample;
      auto more = samples_.next_within(sample, kWait);
      if (!more.ok()) {
        HEADRACE_ASSIGN(const bool was_last, pass_over(more.status()));
        if (was_last) return {};
        continue;
      }
      HEADRACE_TRY(tell(WriteProgress::Phase::writing));
      if (!*more) continue;
      if (!**more) return {};
      ++progress_.written, ++progress_.samples;
      for (const Tensor& field : sample.fields)
        if (!field.is_ragged()) progress_.bytes += field.view().size_bytes();
      HEADRACE_TRY(writer_->add(std::move(sample.fields)));
    }
  }

  // Whether nothing is left behind the shards that an earlier run finished.
  Result<bool> skip_finished() {
    const std::optional<Value> after = writer_->skip_finished();
    if (!after) return false;
    progress_.samples = writer_->position();
    if (after->is_null() || after->is_true("finished")) return true;
    HEADRACE_TRY(samples_.go_on_from(*after));
    return false;
  }

  // A sample is broken: go on behind it. Whether nothing is there.
  Result<bool> pass_over(Status failure) {
    if (!options_.drop_broken || !is_data_error(failure) || failure.code() == Code::exhausted) return failure;
    HEADRACE_ASSIGN(Value here, samples_.save());
    const auto consumed = here.get_integer("consumed");
    if (!consumed.ok()) return failure;  // no place of its own can be said: behind a filter, say
    HEADRACE_ASSIGN(const bool is_clear, samples_.is_clear());
    if (!is_clear) return false;
    const bool is_last = static_cast<uint64_t>(*consumed) + 1 == progress_.total;
    here.set("consumed", *consumed + 1);
    if (!is_last) HEADRACE_TRY(samples_.go_on_from(here));
    const Value entry = Value::Object{
        {"position", *consumed}, {"reason", failure.text()}, {"kind", code_name(failure.code())}};
    for (const Value& known : broken_)
      if (known == entry) return is_last;  // an earlier run told, which was stopped behind it
    broken_.push_back(entry);
    HEADRACE_TRY(writer_->note(entry));
    return is_last;
  }

  std::string quarantine() const {
    if (broken_.empty()) return "";
    return Value(Value::Object{{"broken", broken_}}).dump(1) + "\n";
  }

  Status tell(WriteProgress::Phase phase) {
    if (!options_.progress) return {};
    const auto now = std::chrono::steady_clock::now();
    if (phase == progress_.phase && now - told_ < std::chrono::milliseconds(kWait)) return {};
    told_ = now, progress_.phase = phase;
    return options_.progress(progress_) ? Status() : stopped();
  }

  const WriteOptions& options_;
  Samples samples_;
  std::unique_ptr<DatasetWriter> writer_;
  WriteProgress progress_;
  Value::List broken_;
  std::chrono::steady_clock::time_point told_{};
};

Result<NodePtr> prepared(const NodePtr& plan, const WriteOptions& options) {
  if (plan->size == kInfinite) return invalid("wants an end: this dataset repeats for ever");
  if (!options.check_images) return plan;
  return with_checked_images(plan);
}

}  // namespace

Result<WriteReport> write_dataset(const NodePtr& data, const std::string& target, const WriteOptions& options,
                                  const std::shared_ptr<Store>& store) {
  auto plan = prepared(data, options);
  if (!plan.ok()) return plan.status().before("write: ");
  // What stands behind a border has no place that a run could go on from: what fails there is skipped, and
  // counted alone.
  const bool by_place = options.drop_broken && (*plan)->indexed && !(*plan)->sharded;
  if (options.drop_broken && !by_place) {
    HEADRACE_ASSIGN(*plan, make_node(OnError{OnErrorPolicy::skip}, {*plan}));
  }
  HEADRACE_ASSIGN(auto loader, Loader::make(*plan, options.loader, store));
  WriterRequest request;
  request.schema = (*plan)->schema;
  request.options = options;
  request.metadata = metadata_of(**plan);
  request.num_samples = (*plan)->size;
  request.identity = identity_of(**plan, *loader, options, *store);
  HEADRACE_ASSIGN(auto writer, DatasetWriter::make(target, std::move(request)));
  Samples samples(*plan, options.loader, store, std::move(loader));
  return Copying(options, std::move(samples), std::move(writer)).run(target);
}

}  // namespace headrace
