// Choices that verbs offer, and what they mean.
#pragma once
#include <cstdint>

namespace headrace {

// Where the ranks of a shard come from, if not from its numbers.
enum class RanksOf : uint8_t { environment };

enum class Even : uint8_t { wrap, drop, pad };

enum class OnErrorPolicy : uint8_t { raise, skip, replace };

enum class PackStrategy : uint8_t { first_fit, best_fit, concat_and_split };

inline constexpr uint64_t kInfinite = ~uint64_t{0};

}  // namespace headrace
