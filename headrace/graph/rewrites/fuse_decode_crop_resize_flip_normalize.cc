#include <algorithm>

#include "headrace/graph/rewrites/rewrites.h"
#include "headrace/ops/decode_resampled.h"

namespace headrace {
namespace {

// The only step that uses `value`, when it has one input; null when there are others or it is an output.
const Call* only_reader(const Program& program, int value) {
  if (std::find(program.outputs.begin(), program.outputs.end(), value) != program.outputs.end())
    return nullptr;
  const Call* reader = nullptr;
  for (const Call& call : program.steps) {
    const auto times = std::count(call.inputs.begin(), call.inputs.end(), value);
    if (times == 0) continue;
    if (reader || times != 1 || call.inputs.size() != 1) return nullptr;
    reader = &call;
  }
  return reader;
}

// The program in which steps[step] also normalizes its image `i`, without steps[normalize].
Program fused(const Program& program, size_t step, size_t i, const Call& normalize) {
  Program out = program;
  Call& decode = out.steps[step];
  const int image = decode.first_output + static_cast<int>(i), normalized = normalize.first_output;
  decode.op = with_normalize(decode.op, i, normalize.op);
  decode.absorbed.push_back(normalize.ordinal);
  out.specs[static_cast<size_t>(image)] = program.specs[static_cast<size_t>(normalized)];
  out.steps.erase(out.steps.begin() + (&normalize - program.steps.data()));
  const auto rename = [&](std::vector<int>& values) {
    std::replace(values.begin(), values.end(), normalized, image);
  };
  for (Call& call : out.steps) rename(call.inputs);
  rename(out.outputs);
  return without_dead_steps(out);
}

}  // namespace

// normalize(decode_resampled(...)) -> decode_resampled(...) that writes normalized rows.
NodePtr fuse_decode_crop_resize_flip_normalize(const NodePtr& node) {
  const Map* map = node->as<Map>();
  if (!map) return node;
  const Program& program = map->program;
  for (size_t step = 0; step < program.steps.size(); ++step) {
    const Call& decode = program.steps[step];
    for (size_t i = 0; i < static_cast<size_t>(decode.outputs); ++i) {
      const Call* reader = only_reader(program, decode.first_output + static_cast<int>(i));
      if (!reader || !can_normalize(*decode.op, i, *reader->op)) continue;
      const auto made = make_node(Map{fused(program, step, i, *reader)}, node->inputs, node->made_at);
      return made.ok() ? *made : node;
    }
  }
  return node;
}

}  // namespace headrace
