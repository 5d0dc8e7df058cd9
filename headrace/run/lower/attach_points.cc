#include "headrace/run/lower/attach_points.h"

#include <algorithm>
#include <map>

#include "headrace/core/saturate.h"
#include "headrace/io/archives/archive_store.h"
#include "headrace/ops/decode_resampled.h"

namespace headrace {
namespace {

constexpr size_t kWorthSaving = 1000;        // files
constexpr uint64_t kMostFilesOfASample = 4;  // with several fields, and data that changed

// The sources that a plan reads: their fingerprints, folders, and number of samples.
struct Reads {
  std::map<std::string, std::string> folders;  // by fingerprint
  uint64_t samples = 0;
};

// The folder of data that was opened by a path: the path itself if it is a folder, or that of the file, the
// archive, or the first of several.
std::string folder_of(const Source& source) {
  const Value description = source.describe();
  const Value* path = description.find("path");
  if (path && path->list() && !path->list()->empty()) path = &path->list()->front();
  if (!path || !path->text()) return "";
  return folder_for_keeping(*path->text());
}

void collect(const Node& node, Reads& out) {
  if (const auto* read = node.as<Read>()) {
    if (out.folders.emplace(read->source->fingerprint(), folder_of(*read->source)).second)
      out.samples = saturating_add(out.samples, read->source->size());
  }
  for (const NodePtr& input : node.inputs) collect(*input, out);
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

}  // namespace

std::shared_ptr<PointIndex> open_points(const Node& plan, PointIndex::Options options) {
  Reads reads;
  collect(plan, reads);
  if (options.step) options.most_files = saturating_mul(reads.samples, kMostFilesOfASample);
  std::vector<PointIndex::Data> data;
  for (const auto& [fingerprint, folder] : reads.folders) data.push_back({fingerprint, folder});
  return std::make_shared<PointIndex>(data, options);
}

std::shared_ptr<PointIndex> attach_points(NodePtr& plan, size_t memory) {
  if (!uses_points(*plan)) return nullptr;
  auto index = open_points(*plan, {.step = 0, .memory = memory});
  plan = with_index(plan, index);
  return index;
}

bool is_worth_saving(const PointIndex& index) {
  constexpr size_t kShare = 16;  // 1/16 of the existing ones
  return index.found() >= std::max(kWorthSaving, index.files() / kShare);
}

bool is_due(const PointIndex& index) {
  return index.is_full() || index.found() >= std::max(kWorthSaving, index.files());
}

}  // namespace headrace
