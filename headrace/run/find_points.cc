#include "headrace/run/find_points.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "headrace/codecs/resampled.h"
#include "headrace/core/stop_flag.h"
#include "headrace/formats/opening/open.h"
#include "headrace/graph/walk_nodes.h"
#include "headrace/io/file_system.h"
#include "headrace/run/loader.h"
#include "headrace/run/lower/attach_points.h"

namespace headrace {
namespace {

constexpr size_t kMostFoundBytes = size_t{256} << 20;  // held before they are saved

// encoded image -> whether it has entropy points.
class FindPoints final : public AnyOp {
 public:
  FindPoints(std::shared_ptr<PointIndex> index, int64_t step) : index_(std::move(index)), step_(step) {}
  std::string_view name() const override { return "find_points"; }
  Value params() const override { return Value::Object{{"step", step_}}; }
  std::span<const std::string> bound() const override { return {}; }
  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec>) const override {
    return std::vector<TensorSpec>{{DType::boolean, {}}};
  }
  Status measure(std::span<const View>, std::span<Shape>, CallContext&) const override { return {}; }
  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const override {
    const std::span<const std::byte> file = in[0].bytes();
    PointStore::Known known = index_->find(file);
    EntropyPoints points = find_entropy_points(file, step_, call.scratch());
    if (call.scratch().is_stopped()) return stopped();
    const bool has_points = !points.points.empty();
    *out[0].as<bool>() = has_points;
    const bool is_known = known.points.step == step_ && known.points.points == points.points;
    if (has_points && !is_known) index_->keep(known.key, std::move(points));
    return {};
  }

 private:
  std::shared_ptr<PointIndex> index_;
  int64_t step_;
};

bool may_hold_images(const TensorSpec& spec) { return spec.dtype == DType::bytes && spec.shape.rank() == 1; }

// Examines every field of encoded images; returns a bool for each.
Result<NodePtr> finding(const NodePtr& data, const std::shared_ptr<PointIndex>& index, int64_t step) {
  ProgramBuilder builder(data->schema, "index");
  std::vector<int> inputs, found;  // fields first: each shifts the values of operators
  std::vector<std::string> names;
  for (size_t i = 0; i < data->schema.size(); ++i) {
    if (!may_hold_images(data->schema.specs[i])) continue;
    inputs.push_back(builder.field(static_cast<int>(i)));
    names.push_back(data->schema.names[i]);
  }
  for (const int& input : inputs) {
    HEADRACE_ASSIGN(const std::vector<int> made,
                    builder.add_op(std::make_shared<FindPoints>(index, step), {&input, 1}));
    found.push_back(made[0]);
  }
  HEADRACE_ASSIGN(Program program, builder.finish(std::move(names), std::move(found)));
  HEADRACE_ASSIGN(const NodePtr map, make_node(Map{std::move(program)}, {data}));
  return make_node(OnError{OnErrorPolicy::skip}, {map});
}

// Opening a container saves the index of its records in the user's cache folder; this also saves it next to
// the data if requested. `kept` is called for each sidecar.
Status keep_records(const Node& node, Store& store, const IndexingOptions& options) {
  for (const NodePtr& input : node.inputs) HEADRACE_TRY(keep_records(*input, store, options));
  const auto* read = node.as<Read>();
  if (!read || read->source->num_files() == 0) return {};
  return open_described(store, read->source->describe(), options).status();
}

// The sidecars of files, which several threads save.
class KeptFiles {
 public:
  IndexingOptions options(bool beside) {
    IndexingOptions out;
    out.beside = beside;
    out.kept = [this](const std::string& path) {
      const std::lock_guard lock(mutex_);
      paths_.insert(path);
    };
    return out;
  }
  void tell(IndexedPoints& out) const {
    for (const std::string& path : paths_)
      if (const auto info = file_store()->info(path); info.ok()) out.bytes += info->size;
    if (!paths_.empty()) out.path = paths_.size() == 1 ? *paths_.begin() : folder_of(*paths_.begin());
  }

 private:
  std::mutex mutex_;
  std::set<std::string> paths_;
};

bool reads_files(const Node& node) {
  return find_node(node, [](const Node& one) {
    const auto* read = one.as<Read>();
    return read && read->source->num_files() > 0;
  });
}

uint64_t count_in(const Value& report, std::string_view name) {
  const Value* count = report.find(name);
  return count && count->integer() ? static_cast<uint64_t>(*count->integer()) : 0;
}

}  // namespace

Result<IndexedPoints> index_points(const NodePtr& data, const IndexOptions& options,
                                   const std::shared_ptr<Store>& store) {
  if (options.step < 0 || options.step > kMostStep)
    return invalid("index: step must be from 0 to " + std::to_string(kMostStep) + ", got " +
                   std::to_string(options.step));
  if (!data->size || *data->size == kInfinite)
    return invalid(
        "index: expected data of known length; index it before filter, repeat() and on_error('skip')");
  const bool has_images = std::ranges::any_of(data->schema.specs, may_hold_images);
  if (!has_images && !reads_files(*data))
    return invalid({.expected = "a field of encoded images", .got = "{" + data->schema.text() + "}"})
        .in_op("index");
  KeptFiles kept;
  if (options.beside || !has_images) HEADRACE_TRY(keep_records(*data, *store, kept.options(options.beside)));
  IndexedPoints out;
  if (!has_images) {  // only the positions of records were to be found
    out.samples = *data->size;
    kept.tell(out);
    return out;
  }
  auto index = open_points(*data, {.prefer = PointIndex::Prefer::found, .beside = options.beside});
  if (index->path().empty()) return Status(Code::io, "index: no cache folder; set $XDG_CACHE_HOME or $HOME");
  HEADRACE_ASSIGN(const NodePtr plan, finding(data, index, options.step));
  LoaderOptions loading;
  if (options.workers > 0) loading.workers = options.workers;
  HEADRACE_ASSIGN(const auto loader, Loader::make(plan, loading, store));
  for (Sample sample; options.progress(out.samples); ++out.samples) {
    HEADRACE_ASSIGN(const bool more, loader->next(sample));
    if (!more) break;
    for (const Tensor& field : sample.fields) out.files += *field.view().as<bool>();
    if (index->found_bytes() >= kMostFoundBytes) HEADRACE_TRY(index->save());
  }
  loader->stop();
  HEADRACE_TRY(index->save());
  out.failed = count_in(loader->report(), "skipped");
  if (const auto info = file_store()->info(index->path()); info.ok()) {
    out.path = index->path(), out.bytes = info->size;
    return out;
  }
  if (!options.beside) HEADRACE_TRY(keep_records(*data, *store, kept.options(false)));
  kept.tell(out);
  return out;
}

}  // namespace headrace
