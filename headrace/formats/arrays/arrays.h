// Sources that are in memory already: numbers made when they are asked for, and columns of tensors whose row
// i is sample i.
//
// All are resident: one block, no bytes to fetch, fast `gather`. Immutable, any thread.
#pragma once
#include "headrace/formats/source.h"

namespace headrace {

// start, start + step, … up to but without `stop`, as Python's range: one bare i64 scalar a sample.
Result<SourcePtr> range_source(int64_t start, int64_t stop, int64_t step = 1);

// start, start + step, … without end: its size() is 2^64 - 1, and values wrap around.
SourcePtr counter_source(int64_t start = 0, int64_t step = 1);

// i64 values of 0 to 2^32 - 1, the same for the same seed and position; without end when no size is given.
Result<SourcePtr> random_source(uint64_t seed, const Shape& shape = {}, uint64_t size = ~uint64_t{0});

// Row i of every column, sliced along axis 0 without a copy. `schema` gives names and structure; its specs
// are taken from the columns. A ragged column gives its rows. `slot` names the data in saved plans, which do
// not hold it.
Result<SourcePtr> array_source(Schema schema, std::vector<Tensor> columns, std::string slot = "arrays");

// The same columns in the order, and nested as, `wanted` has them, which they are known from by their names.
// An error when names, dtypes or the shapes of rows are others. Of other sources the order must be that of
// `wanted`.
Result<SourcePtr> fit_columns(const SourcePtr& given, const Schema& wanted);

// Numbers as the verbs that take them beside data want them: weights and sort keys f64, choices i64. Keys may
// be texts, and numbers that f64 does not hold; they become ranks.
enum class Beside : uint8_t { keys, weights, choices };
Result<SourcePtr> numbers_beside(Beside what, const SourcePtr& given);

}  // namespace headrace
