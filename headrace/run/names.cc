#include "headrace/run/names.h"

#include "headrace/run/stage.h"

namespace headrace {

void SampleNames::add(const Level& level) {
  for (const LeafPlan& leaf : level.leaves) {
    if (leaf.source) sources_.emplace(leaf.read, leaf.source);
    if (leaf.rows) add(*leaf.rows);
    for (const auto& input : leaf.zipped) add(*input);
  }
}

void SampleNames::add(const Stage& stage) {
  if (const auto* body = dynamic_cast<const LevelBody*>(&stage.body())) add(body->level());
}

std::string SampleNames::of(const SampleRef& sample) const {
  const auto source = sources_.find(sample.read);
  if (source == sources_.end() || sample.index >= source->second->size())
    return "sample " + std::to_string(sample.index);
  return where(*source->second, sample.index);
}

}  // namespace headrace
