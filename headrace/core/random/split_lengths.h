// The sizes of the parts of a split.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "headrace/core/status.h"

namespace headrace {

// `lengths`: fractions that sum to 1, or numbers of elements that sum to `total`. Of a fraction f the part
// has floor(f · total) elements; the elements that are left go to the first parts, one each, as
// torch.utils.data.random_split deals them.
Result<std::vector<uint64_t>> split_lengths(std::span<const double> lengths, uint64_t total);

}  // namespace headrace
