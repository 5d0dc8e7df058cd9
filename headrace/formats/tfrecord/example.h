// Samples as serialised tf.train.Examples: "Writing" in README.md beside this file. Pure; any thread.
#pragma once
#include <string>
#include <vector>

#include "headrace/core/sample.h"

namespace headrace {

// Appends the Example to `out`. The same sample gives the same bytes.
void append_example(const Schema& schema, const std::vector<Tensor>& fields, std::string& out);

}  // namespace headrace
