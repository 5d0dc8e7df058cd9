// Sources that are in memory: computed numbers, and columns of tensors whose row i is sample i.
//
// All are resident: one block, no bytes to fetch, fast `gather`. Immutable, any thread.
#pragma once
#include "headrace/formats/source.h"

namespace headrace {

// start, start + step, … up to but excluding `stop`, like Python's range: one bare int64 scalar per sample.
Result<SourcePtr> range_source(int64_t start, int64_t stop, int64_t step = 1);

// start, start + step, … without end: its size() is 2^64 - 1, and values wrap around.
SourcePtr counter_source(int64_t start = 0, int64_t step = 1);

// int64 values of 0 to 2^32 - 1, the same for the same seed and position; endless if no size is given.
Result<SourcePtr> random_source(uint64_t seed, const Shape& shape = {}, uint64_t size = ~uint64_t{0});

// Row i of every column, sliced along axis 0 without a copy. `schema` provides names and structure; its specs
// are taken from the columns. A ragged column provides its rows. `slot` names the data in saved plans, which
// do not contain it.
Result<SourcePtr> array_source(Schema schema, std::vector<Tensor> columns, std::string slot = "arrays");

// The same columns in the order and structure of `wanted`, matched by name. An error if names, dtypes or the
// shapes of rows differ. For other sources the order must already be that of `wanted`.
Result<SourcePtr> fit_columns(const SourcePtr& given, const Schema& wanted);

// Converts numbers to the form that verbs expect as a second input: weights and sort keys to float64, choices
// and indices to int64. Keys may be strings, or numbers that float64 cannot represent; they become ranks.
enum class Beside : uint8_t { keys, weights, choices, indices };
Result<SourcePtr> numbers_beside(Beside what, const SourcePtr& given);

}  // namespace headrace
