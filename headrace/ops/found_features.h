// Shared by parse_example and parse_sequence_example: where the requested features of one message are, and
// how the outputs of their specs nest.
#pragma once
#include <array>
#include <vector>

#include "headrace/ops/feature_spec.h"

namespace headrace {

// An optional T for each spec; allocates only for more specs than most examples have.
template <class T> class Found {
 public:
  explicit Found(size_t count) : more_(count > kHere ? count : 0) {}
  void set(size_t i, const T& value) { all()[i] = value; }
  const T* operator[](size_t i) { return all()[i] ? &*all()[i] : nullptr; }

 private:
  static constexpr size_t kHere = 24;
  std::optional<T>* all() { return more_.empty() ? here_.data() : more_.data(); }
  std::array<std::optional<T>, kHere> here_;
  std::vector<std::optional<T>> more_;
};
using FoundFeatures = Found<Feature>;
using FoundLists = Found<FeatureEntry>;

Status find_features(std::span<const std::byte> example, const FeatureSpecs& specs, FoundFeatures& out);
Status find_feature_lists(std::span<const std::byte> example, const FeatureSpecs& specs, FoundLists& out);

// The status of a feature; when it failed because it was not `found`, with the names of the example's
// features.
Status with_names(Status status, bool found, std::span<const std::byte> example,
                  FeatureGroup group = FeatureGroup::features);

// {"label": 0, "names": {"values": 1, "lengths": 2}}, numbered from `outputs` on.
Value structure_of(const FeatureSpecs& specs, int& outputs,
                   size_t (FeatureSpec::*count)() const = &FeatureSpec::num_outputs);

// Checks the operators' input.
Status check_message(const TensorSpec& in);

}  // namespace headrace
