// Split names of TensorFlow Datasets and Hugging Face: "train", "train[:10%]", "train[80%:]+test",
// "train[100:-50]". Pure; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"

namespace headrace {

// The two libraries differ. tfds takes fractional percentages and shards, and refuses a slice beyond the end;
// Hugging Face truncates it there, and takes "train[:10%](pct1_dropremainder)".
enum class SplitRules { tfds, huggingface };

struct SplitPart {
  enum class Unit { samples, percent, shards };
  std::string name;
  Unit unit = Unit::samples;
  std::optional<double> from, to;  // negative: counted from the end
  bool drops_remainder = false;    // a percent is a hundredth of the samples, rounded down
};
// Parts joined by "+", in their order. A part without a name, "[:10%]", refers to the only split. Refuses
// what the library refuses.
Result<std::vector<SplitPart>> parse_splits(std::string_view text, SplitRules rules);

struct SplitRows {
  uint64_t first = 0, count = 0;
  bool operator==(const SplitRows&) const = default;
};
// The samples of a part of a split with `size` samples; `shards`: those of each file, if known. Boundaries in
// percent are rounded to the nearest sample, halves to even, as in both libraries.
Result<SplitRows> rows_of(const SplitPart& part, uint64_t size, SplitRules rules,
                          const std::vector<uint64_t>& shards = {});

}  // namespace headrace
