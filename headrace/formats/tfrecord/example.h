// Samples as serialised tf.train.Examples: see "Writing" in README.md. Pure; any thread.
#pragma once
#include <string>
#include <vector>

#include "headrace/core/sample.h"

namespace headrace {

// An error if two features would have the same name.
Status check_example(const Schema& schema);
// An error for integers that an Int64List cannot hold and, unless `rounds`, for float64 that a FloatList
// would round.
Status check_values(const Schema& schema, const std::vector<Tensor>& fields, bool rounds);
// Appends the Example to `out`. The same sample gives the same bytes.
void append_example(const Schema& schema, const std::vector<Tensor>& fields, std::string& out);

}  // namespace headrace
