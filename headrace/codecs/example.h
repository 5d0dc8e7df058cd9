// Serialised tf.train.Example and SequenceExample messages, parsed in place: nothing is built from them.
// Values; any thread.
//
//   Example         { 1: Features }
//   SequenceExample { 1: Features, 2: FeatureLists }
//   Features        { 1: map<string, Feature> }
//   FeatureLists    { 1: map<string, FeatureList> }      FeatureList { 1: Feature, one a step }
//   Feature         { 1: BytesList | 2: FloatList | 3: Int64List }       a list { 1: its values }
//
// As in every reader of protocol buffers: numbers are packed or not; a message split into several pieces is
// merged; of a key that comes twice, or two kinds in one Feature, the last one counts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "headrace/codecs/protobuf.h"

namespace headrace {

enum class FeatureKind : uint8_t { none, bytes, floats, ints };
std::string_view feature_kind_name(FeatureKind kind);  // "bytes", "float32", "int64", "nothing"

struct Feature {
  FeatureKind kind = FeatureKind::none;
  bool in_entry = false;               // `message` is a map's entry, whose values together are the Feature
  std::span<const std::byte> message;  // serialised
  const std::byte* from = nullptr;     // earlier lists are of a kind that was overridden
  const std::byte* example = nullptr;  // where the Example begins, for errors
};

// A Feature or a FeatureList with its name.
struct FeatureEntry {
  std::string_view name;
  std::span<const std::byte> message;
  const std::byte* example = nullptr;
};

enum class FeatureGroup : uint8_t { features = 1, feature_lists = 2 };

// The entries of one of an example's maps, in the order in which they are stored.
class FeatureEntries {
 public:
  explicit FeatureEntries(std::span<const std::byte> example, FeatureGroup group = FeatureGroup::features)
      : example_(example.data()), number_(static_cast<uint64_t>(group)), groups_(example, example_) {}
  bool next(FeatureEntry& out);  // false at the end, and where the bytes are not an Example
  Status status() const;         // `corrupt`, with the byte; ok when next() came to the end

 private:
  const std::byte* example_;
  uint64_t number_;
  WireReader groups_;
  WireReader map_{{}, nullptr};
  Status failed_;
};

Status read_feature(const FeatureEntry& entry, Feature& out);

// Calls `step(Feature)` for each Feature of a FeatureList; a Status that is not ok ends it.
template <class F> Status each_step(const FeatureEntry& entry, const F& step);

// The names of an example's features, to append to a message: "; it has "image", "label"".
std::string names_in(std::span<const std::byte> example, FeatureGroup group = FeatureGroup::features);

// The feature, or nothing when there is none of this name.
Result<std::optional<Feature>> find_feature(std::span<const std::byte> example, std::string_view name);

Result<uint64_t> count_values(const Feature& feature);
// The value, if there is one and it is bytes.
std::optional<std::span<const std::byte>> only_bytes(const Feature& feature);
// Total number of bytes. REQUIRES: the kind is bytes.
Result<uint64_t> count_bytes(const Feature& feature);
// Copy the values. REQUIRES: `out` has room for count_values() of the feature, which is of this kind. They
// return the end of what was written.
Result<float*> copy_floats(const Feature& feature, float* out);
Result<int64_t*> copy_ints(const Feature& feature, int64_t* out);
// Concatenated to `out`, the length of each to `lengths` unless that is null.
Status copy_bytes(const Feature& feature, std::byte*& out, int64_t*& lengths);

inline constexpr std::string_view kExample = "a tf.train.Example";

Status read_step(std::span<const std::byte> message, const std::byte* example, Feature& out);

template <class F> Status each_step(const FeatureEntry& entry, const F& step) {
  WireReader lists(entry.message, entry.example);
  WireField list, field;
  while (lists.next(list)) {
    if (!list.is_bytes(2)) continue;
    WireReader steps(list.bytes, entry.example);
    while (steps.next(field)) {
      if (!field.is_bytes(1)) continue;
      Feature feature;
      HEADRACE_TRY(read_step(field.bytes, entry.example, feature));
      HEADRACE_TRY(step(feature));
    }
    HEADRACE_TRY(steps.status(kExample));
  }
  return lists.status(kExample);
}

}  // namespace headrace
