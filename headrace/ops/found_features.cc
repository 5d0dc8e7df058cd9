#include "headrace/ops/found_features.h"

namespace headrace {

Status find_features(std::span<const std::byte> example, const FeatureSpecs& specs, FoundFeatures& out) {
  FeatureEntries entries(example);
  for (FeatureEntry entry; entries.next(entry);) {
    const size_t at = specs.find(entry.name);
    if (at == specs.specs.size()) continue;
    Feature feature;
    HEADRACE_TRY(read_feature(entry, feature));
    out.set(at, feature);
  }
  return entries.status();
}

Status find_feature_lists(std::span<const std::byte> example, const FeatureSpecs& specs, FoundLists& out) {
  FeatureEntries entries(example, FeatureGroup::feature_lists);
  for (FeatureEntry entry; entries.next(entry);)
    if (const size_t at = specs.find(entry.name); at != specs.specs.size()) out.set(at, entry);
  return entries.status();
}

Status with_names(Status status, bool found, std::span<const std::byte> example, FeatureGroup group) {
  if (status.ok() || found) return status;
  return std::move(status).after(names_in(example, group));
}

Value structure_of(const FeatureSpecs& specs, int& outputs, size_t (FeatureSpec::*count)() const) {
  Value::Object out;
  for (const FeatureSpec& spec : specs.specs) {
    if ((spec.*count)() == 1) {
      out.emplace_back(spec.name, outputs++);
      continue;
    }
    Value pair{Value::Object()};
    pair.set("values", outputs++);
    pair.set("lengths", outputs++);
    out.emplace_back(spec.name, std::move(pair));
  }
  return out;
}

Status check_message(const TensorSpec& in) {
  if (in.shape.rank() == 1 && (in.dtype == DType::bytes || in.dtype == DType::u8)) return {};
  return invalid({.expected = "the bytes of " + std::string(kExample), .got = in.text()});
}

}  // namespace headrace
