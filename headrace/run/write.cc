#include "headrace/run/write.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "headrace/core/stop_flag.h"
#include "headrace/core/text/text.h"
#include "headrace/core/text/utf8.h"
#include "headrace/formats/data_notes.h"
#include "headrace/graph/meaning.h"
#include "headrace/run/check_images.h"
#include "headrace/run/read_back.h"

namespace headrace {
namespace {

constexpr uint64_t kWait = 50;  // minimum ms between two calls of progress

// Names of classes come from folders and files. Those that are not UTF-8 would be written as U+FFFD, and two
// of them could become one.
Status check_utf8(const Value& metadata) {
  if (const std::string* text = metadata.text(); text && utf8_prefix(*text) < text->size())
    return invalid({.expected = "names in UTF-8",
                    .got = in_quotes(*text) + " in the metadata of the data",
                    .fix = "rename it"})
        .in_op("write");
  if (const auto* list = metadata.list())
    for (const Value& item : *list) HEADRACE_TRY(check_utf8(item));
  if (const auto* object = metadata.object())
    for (const auto& [key, item] : *object) HEADRACE_TRY(check_utf8(item));
  return {};
}

// The parameters of encode_image; those of the last call.
Value lossy_encoding(const Node& node) {
  if (const auto* map = node.as<Map>())
    for (const Call& call : map->program.steps)
      if (call.op->name() == "encode_image") return call.op->params();
  return node.inputs.empty() ? Value() : lossy_encoding(*node.inputs[0]);
}

// Whether an element has labels that these classes name.
bool has_labels_of(const Node& plan, const Value& classes) {
  return std::ranges::any_of(meanings_of(plan), [&](const LeafMeaning& leaf) {
    return leaf.classes && Value(Value::List(leaf.classes->begin(), leaf.classes->end())) == classes;
  });
}

// Metadata of the data that holds for the copy, and a record of the processing.
Value metadata_of_copy(const Node& plan) {
  Value out{Value::Object()};
  if (const Value metadata = metadata_of(plan); metadata.object())
    for (const auto& [key, value] : *metadata.object())
      if (!is_of_reading(key) && (key != "classes" || has_labels_of(plan, value))) out.set(key, value);
  if (const Value lossy = lossy_encoding(plan); !lossy.is_null()) out.set("lossy", lossy);
  return out;
}

// Whether the plan's fingerprint identifies something by name only: a Python function, array or generator may
// be different in the next run.
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

// Appends sizes and times of the files to be read. That takes a fraction of the time of reading them.
void add_files(const Node& node, Store& store, std::string& out) {
  const auto* read = node.as<Read>();
  const uint64_t files = read ? read->source->num_files() : 0;
  for (uint64_t i = 0; i < files; ++i)
    if (const auto info = store.info(read->source->file(i)); info.ok())
      out += std::to_string(info->size) + " " + std::to_string(info->mtime_ns) + "\n";
  for (const NodePtr& input : node.inputs) add_files(*input, store, out);
}

// What must be equal for another run to continue where this one was stopped; null: it cannot continue.
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
  Copying(const WriteOptions& options, std::unique_ptr<Loader> samples, std::unique_ptr<DatasetWriter> writer)
      : options_(options), samples_(std::move(samples)), writer_(std::move(writer)) {
    progress_.total = samples_->size();
    for (const Value& note : writer_->notes()) broken_.push_back(note), known_.insert(note.dump());
  }

  Result<WriteReport> run(const std::string& target) {
    HEADRACE_TRY(copy());
    samples_->stop();
    HEADRACE_TRY(tell(WriteProgress::Phase::finishing));
    HEADRACE_TRY(writer_->close());
    if (options_.verify)
      HEADRACE_TRY(read_back(*writer_, target, options_.loader, [&](uint64_t samples) {
        progress_.samples = samples;
        return tell(WriteProgress::Phase::verifying).ok();
      }));
    WriteReport out;
    HEADRACE_ASSIGN(static_cast<Written&>(out), writer_->finish(quarantine()));
    out.broken = broken_.size(), out.warnings = samples_->warnings();
    return out;
  }

 private:
  Status copy() {
    while (true) {
      while (writer_->is_shard_full()) {
        HEADRACE_ASSIGN(Value here, samples_->save());
        HEADRACE_TRY(writer_->end_shard(std::move(here)));
      }
      HEADRACE_ASSIGN(const bool is_over, skip_finished());
      if (is_over) return {};
      Sample sample;
      HEADRACE_ASSIGN(const std::optional<bool> more, samples_->next_within(sample, kWait));
      HEADRACE_TRY(tell(WriteProgress::Phase::writing));
      if (!more) continue;
      if (!*more) return {};
      if (sample.failure) {
        pass_over(*sample.failure);
        continue;
      }
      ++progress_.written, ++progress_.samples;
      for (const Tensor& field : sample.fields)
        if (!field.is_ragged()) progress_.bytes += field.view().size_bytes();
      HEADRACE_TRY(writer_->add(std::move(sample.fields)));
    }
  }

  // Whether nothing is left after the shards that an earlier run finished.
  Result<bool> skip_finished() {
    const std::optional<Value> after = writer_->skip_finished();
    if (!after) return false;
    progress_.samples = writer_->position();
    if (after->is_null() || after->is_true("finished")) return true;
    HEADRACE_TRY(samples_->load(*after));
    return false;
  }

  void pass_over(const Status& failure) {
    Value entry = Value::Object{{"position", samples_->position() - 1},
                                {"reason", failure.text()},
                                {"kind", code_name(failure.code())}};
    if (!known_.insert(entry.dump()).second) return;  // reported by an earlier run that was stopped after it
    writer_->note(entry);
    broken_.push_back(std::move(entry));
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
  std::unique_ptr<Loader> samples_;
  std::unique_ptr<DatasetWriter> writer_;
  WriteProgress progress_;
  Value::List broken_;
  std::set<std::string> known_;  // of these
  std::chrono::steady_clock::time_point told_{};
};

// A zip joins elements of its inputs, whatever they are.
bool gives_batches(const Node& node) {
  return node.as<Batch>() || node.as<Window>() ||
         (!node.as<Zip>() &&
          std::ranges::any_of(node.inputs, [](const NodePtr& input) { return gives_batches(*input); }));
}

Result<NodePtr> prepared(const NodePtr& plan, const WriteOptions& options) {
  if (plan->size == kInfinite) return invalid("the dataset is infinite; limit it with take()");
  if (!options.check_images) return plan;
  return with_checked_images(plan);
}

}  // namespace

Result<WriteReport> write_dataset(const NodePtr& data, const std::string& target, const WriteOptions& options,
                                  const std::shared_ptr<Store>& store) {
  auto plan = prepared(data, options);
  if (!plan.ok()) return plan.status().in_op("write");
  // Elements after a border have no position to report, and in batches it is rows that fail: those are
  // skipped, and only counted.
  LoaderOptions running = options.loader;
  running.keep_failures =
      options.drop_broken && (*plan)->indexed && !(*plan)->sharded && !gives_batches(**plan);
  if (options.drop_broken && !running.keep_failures) {
    HEADRACE_ASSIGN(*plan, make_node(OnError{OnErrorPolicy::skip}, {*plan}));
  }
  HEADRACE_ASSIGN(auto loader, Loader::make(*plan, std::move(running), store));
  WriterRequest request;
  request.schema = (*plan)->schema;
  request.options = options;
  request.metadata = metadata_of_copy(**plan);
  HEADRACE_TRY(check_utf8(request.metadata));
  request.num_samples = (*plan)->size;
  request.identity = identity_of(**plan, *loader, options, *store);
  HEADRACE_ASSIGN(auto writer, DatasetWriter::make(target, std::move(request)));
  return Copying(options, std::move(loader), std::move(writer)).run(target);
}

}  // namespace headrace
