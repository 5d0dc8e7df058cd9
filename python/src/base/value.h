// Plain Python objects (None, bool, int, float, str, lists, tuples, dicts with str keys) to Values and back.
// REQUIRES: the GIL is held.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/core/value.h"

namespace headrace::python {

namespace nb = nanobind;

// Throws TypeError for anything that JSON cannot represent.
Value to_value(nb::handle object);
// The same, but an int from 2^63 on becomes {"u64": "9223372036854775808"} instead of a negative number.
Value to_exact_value(nb::handle object);
// A state, whose errors are those of a state that was changed by hand: ValueError.
Value state_value(nb::handle state);
nb::object to_python(const Value& value);

}  // namespace headrace::python
