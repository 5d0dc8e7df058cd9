// Samples as serialised tf.train.Examples: "Writing" in README.md beside this file. Pure; any thread.
#pragma once
#include <string>
#include <vector>

#include "headrace/core/sample.h"

namespace headrace {

// Appends the Example to `out`. The same sample gives the same bytes.
// Whether each feature has a name of its own.
Status check_example(const Schema& schema);
// An error for numbers that an Int64List cannot hold, and for f64 that a FloatList would round unless it may.
Status check_values(const Schema& schema, const std::vector<Tensor>& fields, bool rounds);
void append_example(const Schema& schema, const std::vector<Tensor>& fields, std::string& out);

}  // namespace headrace
