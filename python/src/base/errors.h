// The border of errors: a Status becomes the exception that Python users expect, and a user's exception
// becomes a Status.
//
// A Status is text only, so the exception of a user's function waits in a small store and its Status carries
// the number under which it is found again. All functions want the GIL held.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/core/status.h"

namespace headrace::python {

namespace nb = nanobind;

[[noreturn]] void raise(const Status& status);

inline void check(const Status& status) {
  if (!status.ok()) raise(status);
}
template <class T> T unwrap(Result<T> result) {
  if (!result.ok()) raise(result.status());
  return *std::move(result);
}

// The Status of a user's function that raised: "augment: KeyError: 'x'".
Status foreign(nb::python_error& error, std::string_view function);

// The text of a Status without the number of a stored exception.
std::string shown_text(std::string_view text);

}  // namespace headrace::python
