// Serialised tf.train.Example messages, looked into where they lie: nothing is built from them. Pure; any
// thread.
//
//   Example  { 1: Features }               FeatureLists of numbers may be packed or not.
//   Features { 1: map<string, Feature> }   Of a key that occurs twice, and of two kinds in one Feature, the
//   last holds, Feature  { 1: BytesList | 2: FloatList | 3: Int64List }   as in every reader of protocol
//   buffers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "headrace/core/status.h"

namespace headrace {

enum class FeatureKind : uint8_t { none, bytes, floats, ints };
std::string_view feature_kind_name(FeatureKind kind);  // "bytes", "f32", "i64", "nothing"

struct Feature {
  FeatureKind kind = FeatureKind::none;
  std::span<const std::byte> list;  // the BytesList, FloatList or Int64List, serialised
};

// The feature, or nothing when there is none of this name. `corrupt` when the message is none, with the byte.
Result<std::optional<Feature>> find_feature(std::span<const std::byte> example, std::string_view name);

Result<uint64_t> count_values(const Feature& feature);
Result<std::span<const std::byte>> only_bytes(const Feature& feature);  // of a BytesList with one value
// REQUIRES: `out` has room for count_values() of the feature, which is of this kind.
Status copy_floats(const Feature& feature, float* out);
Status copy_ints(const Feature& feature, int64_t* out);

}  // namespace headrace
