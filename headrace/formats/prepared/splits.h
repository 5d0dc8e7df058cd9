// Splits as TensorFlow Datasets and Hugging Face name them: "train", "train[:10%]", "train[80%:]+test",
// "train[100:-50]". Pure; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"

namespace headrace {

// The two libraries differ. tfds takes parts of percent and shards, and refuses a slice beyond the end;
// Hugging Face's cuts it off there, and takes "train[:10%](pct1_dropremainder)".
enum class SplitRules { tfds, huggingface };

struct SplitPart {
  enum class Unit { samples, percent, shards };
  std::string name;
  Unit unit = Unit::samples;
  std::optional<double> from, to;  // below 0: counted from the end
  bool drops_remainder = false;    // a percent is the hundredth part, rounded down, so that all are one size
};
// Parts that are joined by "+", in their order. A part without a name, "[:10%]", is of the only split there
// is. What the library refuses is refused.
Result<std::vector<SplitPart>> parse_splits(std::string_view text, SplitRules rules);

struct SplitRows {
  uint64_t first = 0, count = 0;
  bool operator==(const SplitRows&) const = default;
};
// The samples of a part, of a split of so many; `shards` of its files, where these are known. Boundaries in
// percent are rounded to the closest sample, halves to the even one, as both libraries have it.
Result<SplitRows> rows_of(const SplitPart& part, uint64_t size, SplitRules rules,
                          const std::vector<uint64_t>& shards = {});

}  // namespace headrace
