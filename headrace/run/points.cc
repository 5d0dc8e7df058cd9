#include "headrace/run/points.h"

#include <algorithm>
#include <set>

#include "headrace/codecs/resampled.h"
#include "headrace/ops/decode_resampled.h"

namespace headrace {
namespace {

void collect_data(const Node& node, std::set<std::string>& out) {
  if (const auto* read = node.as<Read>()) out.insert(read->source->fingerprint());
  for (const NodePtr& input : node.inputs) collect_data(*input, out);
}

std::string data_of(const Node& node) {
  std::set<std::string> reads;
  collect_data(node, reads);
  std::string out;
  for (const std::string& read : reads) out += read + "\n";
  return out;
}

bool uses_points(const Node& node) {
  const auto* map = node.as<Map>();
  const auto uses = [](const Call& call) { return with_point_store(call.op, nullptr) != call.op; };
  return (map && std::any_of(map->program.steps.begin(), map->program.steps.end(), uses)) ||
         std::any_of(node.inputs.begin(), node.inputs.end(),
                     [](const NodePtr& n) { return uses_points(*n); });
}

NodePtr with_index(const NodePtr& node, const std::shared_ptr<PointIndex>& index) {
  std::vector<NodePtr> inputs;
  for (const NodePtr& input : node->inputs) inputs.push_back(with_index(input, index));
  const auto* map = node->as<Map>();
  if (!map) return inputs.empty() ? node : with_inputs(*node, std::move(inputs));
  Program program = map->program;
  for (Call& call : program.steps) call.op = with_point_store(call.op, index);
  const auto made = make_node(Map{std::move(program)}, std::move(inputs), node->made_at);
  return made.ok() ? *made : node;
}

// encoded image -> whether it has points.
class FindPoints final : public AnyOp {
 public:
  FindPoints(std::shared_ptr<PointIndex> index, int64_t step) : index_(std::move(index)), step_(step) {}
  std::string_view name() const override { return "find_points"; }
  Value params() const override { return Value::Object{{"step", step_}}; }
  std::span<const std::string> bound() const override { return {}; }
  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec>) const override {
    return std::vector<TensorSpec>{{DType::boolean, {}}};
  }
  Status measure(std::span<const View>, const Key&, std::span<Shape>) const override { return {}; }
  Status run(std::span<const View> in, const Key&, std::span<const MutView> out, Scratch&) const override {
    const std::span<const std::byte> file = in[0].bytes();
    PointStore::Known known = index_->find(file);
    EntropyPoints points = find_entropy_points(file, step_);
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

}  // namespace

std::shared_ptr<PointIndex> attach_points(NodePtr& plan, size_t memory) {
  if (!uses_points(*plan)) return nullptr;
  auto index = std::make_shared<PointIndex>(data_of(*plan), 0, memory);
  plan = with_index(plan, index);
  return index;
}

Result<IndexedPoints> index_points(const NodePtr& read, int64_t step, const LoaderOptions& options,
                                   const std::shared_ptr<Store>& store,
                                   const std::function<bool(uint64_t)>& progress) {
  auto index = std::make_shared<PointIndex>(data_of(*read), std::nullopt, 0);
  ProgramBuilder builder(read->schema, "index");
  std::vector<int> found;
  std::vector<std::string> names;
  for (size_t i = 0; i < read->schema.size(); ++i) {
    if (read->schema.specs[i].dtype != DType::bytes) continue;
    const int input[] = {builder.field(static_cast<int>(i))};
    HEADRACE_ASSIGN(const std::vector<int> made,
                    builder.add_op(std::make_shared<FindPoints>(index, step), input));
    found.push_back(made[0]);
    names.push_back(read->schema.names[i]);
  }
  if (found.empty())
    return invalid("index: wants a field of encoded images, got {" + read->schema.text() + "}");
  HEADRACE_ASSIGN(Program program, builder.finish(std::move(names), std::move(found)));
  HEADRACE_ASSIGN(const NodePtr map, make_node(Map{std::move(program)}, {read}));
  HEADRACE_ASSIGN(const auto loader, Loader::make(map, options, store));
  IndexedPoints out;
  for (Sample sample; out.samples == 0 || progress(out.samples); ++out.samples) {
    HEADRACE_ASSIGN(const bool more, loader->next(sample));
    if (!more) break;
    for (const Tensor& field : sample.fields) out.files += *field.view().as<bool>();
  }
  loader->stop();
  HEADRACE_TRY(index->save());
  return out;
}

}  // namespace headrace
