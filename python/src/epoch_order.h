// A Python function from epoch to positions, as an EpochOrder.
#pragma once
#include <nanobind/nanobind.h>

#include <string>

#include "headrace/graph/epoch_order.h"

namespace headrace::python {

namespace nb = nanobind;

// `positions(epoch)` returns bytes: int64 each. `label`: of the user's function, for messages.
// `seed`: of samplers, kept in the plan.
EpochOrderPtr make_epoch_order(uint64_t size, std::string slot, uint64_t seed, std::string label,
                               nb::object positions);

}  // namespace headrace::python
