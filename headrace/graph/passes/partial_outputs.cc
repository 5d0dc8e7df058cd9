#include "headrace/graph/passes/partial_outputs.h"

#include <algorithm>

namespace headrace {
namespace {

// Collects the steps that read `value` of program `at`, in it and, as a field, in those after it. False when
// a reader needs the whole value.
bool find_readers(std::span<const Program> chain, size_t at, int value, size_t from,
                  std::vector<PartReader>& readers) {
  const Program& program = chain[at];
  for (size_t step = 0; step < program.steps.size(); ++step) {
    const Call& call = program.steps[step];
    if (std::find(call.inputs.begin(), call.inputs.end(), value) == call.inputs.end()) continue;
    if (!call.op->reads_part()) return false;
    readers.push_back({at - from, step});
  }
  for (size_t leaf = 0; leaf < program.outputs.size(); ++leaf) {
    if (program.outputs[leaf] != value) continue;
    if (at + 1 == chain.size()) return false;
    const std::vector<int>& fields = chain[at + 1].input_fields;
    const auto field = std::find(fields.begin(), fields.end(), static_cast<int>(leaf));
    if (field != fields.end() &&
        !find_readers(chain, at + 1, static_cast<int>(field - fields.begin()), from, readers))
      return false;
  }
  return true;
}

}  // namespace

void mark_part_readers(std::span<Program> chain) {
  for (size_t p = 0; p < chain.size(); ++p)
    for (Call& call : chain[p].steps) {
      call.part_readers.clear();
      if (!call.op->makes_part() || call.outputs != 1) continue;
      std::vector<PartReader> readers;
      if (find_readers(chain, p, call.first_output, p, readers)) call.part_readers = std::move(readers);
    }
}

}  // namespace headrace
