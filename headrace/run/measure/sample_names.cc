#include "headrace/run/measure/sample_names.h"

#include "headrace/run/order/level.h"

namespace headrace {

std::string name_of(const LeafPlan& leaf, const Position& at) {
  if (leaf.rows) return "batch " + std::to_string(at.index);
  if (!leaf.zipped.empty()) return "element " + std::to_string(at.index) + " of zip";
  return name_of(*leaf.source, at.index);
}

Status of_sample(Status status, const LeafPlan& leaf, const Position& at) {
  if (leaf.source) status = with_place(std::move(status), leaf.source->where(at.index), at.index);
  return std::move(status).after(": " + name_of(leaf, at));
}

std::string name_of(const Source& source, uint64_t index) {
  const std::string place = source.where(index).text();
  return "sample " + std::to_string(index) + (place.empty() ? "" : " of " + place);
}

void SampleNames::add(const Level& level) {
  for (const LeafPlan& leaf : level.leaves) {
    if (leaf.source) sources_.emplace(leaf.read, leaf.source);
    if (leaf.rows) add(*leaf.rows);
    for (const auto& input : leaf.zipped) add(*input);
  }
}

std::string SampleNames::of(const SampleRef& sample) const {
  const auto source = sources_.find(sample.read);
  if (source == sources_.end() || sample.index >= source->second->size())
    return "sample " + std::to_string(sample.index);
  return name_of(*source->second, sample.index);
}

}  // namespace headrace
