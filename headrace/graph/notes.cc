#include "headrace/graph/notes.h"

#include <algorithm>

namespace headrace {
namespace {

// Whether elements are batches: what stands after batch() moves or changes them, unbatch() ends them.
bool is_batched(const Node& node) {
  if (node.as<Batch>()) return true;
  return !node.inputs.empty() && !node.as<Unbatch>() && is_batched(*node.input());
}

void note(const char* text, std::vector<std::string>& out) {
  if (std::ranges::find(out, text) == out.end()) out.emplace_back(text);
}

void collect(const Node& node, std::vector<std::string>& out) {
  for (const NodePtr& input : node.inputs) collect(*input, out);
  const auto* shuffle = node.as<Shuffle>();
  if (shuffle && is_batched(*node.input()))
    note(
        "shuffle stands after batch: whole batches change places, and the same samples stay together; put it "
        "before batch to mix samples",
        out);
  if (shuffle && shuffle->seed == 0)
    note(
        "shuffle has seed 0, as when none is given: every run has the same orders; shuffle(seed) chooses "
        "others",
        out);
  // Elsewhere it rises to the data, whatever verbs stand between.
  if (node.as<Shard>() && !node.input()->indexed)
    note(
        "shard stands after a filter, unbatch, window shuffle or on_error(\"skip\"): every rank reads and "
        "decodes everything and keeps its share; put shard before them if ranks may take different numbers "
        "of "
        "samples",
        out);
}

}  // namespace

std::vector<std::string> notes(const NodePtr& plan) {
  std::vector<std::string> out;
  collect(*plan, out);
  return out;
}

}  // namespace headrace
