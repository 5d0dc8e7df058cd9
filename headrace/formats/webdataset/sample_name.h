// WebDataset's rule for the names of members: "train/0001.seg.png" is the member "seg.png" of the sample
// "train/0001".
#pragma once
#include <optional>
#include <string_view>

namespace headrace {

struct MemberName {
  std::string_view key, suffix;  // the suffix as written; it is compared in lower case
};

// Nothing when the member belongs to no sample: without a dot, hidden, or below a `__name__` at the top.
std::optional<MemberName> sample_name(std::string_view member);

// Whether it belongs to no sample because its name has no dot; false if it is hidden, about the shard, or a
// text about the data such as README.
bool lacks_suffix(std::string_view member);

// Whether `written` in lower case is `lower`.
bool is_suffix(std::string_view written, std::string_view lower);

}  // namespace headrace
