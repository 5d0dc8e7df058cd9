// Error conversion: a Status becomes the exception that Python users expect, and a user's exception becomes a
// Status.
//
// The exception of a user's function is kept in a small store, and its Status carries its number there.
// REQUIRES: the GIL is held.
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

// What the standard library throws, raised as an error with words.
void register_errors();

// The Status of a user's function that raised: "augment: KeyError: 'x'".
Status foreign(nb::python_error& error, std::string_view function);

// What Python's API returned; a MemoryError of its own has no words and gets those of std::bad_alloc.
PyObject* with_words(PyObject* made);
inline nb::object made_by_python(PyObject* made) {
  if (!with_words(made)) throw nb::python_error();
  return nb::steal(made);
}

}  // namespace headrace::python
