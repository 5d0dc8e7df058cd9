// What the columns of a batch have in common: sequences whose rows become Python objects when asked for.
// Slots and not methods: a loop over a batch asks once for each row.
#pragma once
#include <nanobind/nanobind.h>

namespace headrace::python {

namespace nb = nanobind;

// The column behind a Python object; null where Python made the object without a batch.
template <class Column> const Column* column_behind(PyObject* self) {
  return nb::inst_ready(self) ? nb::inst_ptr<Column>(self) : nullptr;
}

// An index from either end, or a slice: a list. Of any sequence that has Py_sq_length and Py_sq_item.
PyObject* column_subscript(PyObject* self, PyObject* key);
// As the list of its rows prints.
PyObject* column_represent(PyObject* self);
// It pickles as the list of its rows.
nb::tuple column_reduce(nb::handle self);
// isinstance(column, collections.abc.Sequence).
void register_as_sequence(nb::handle type);

}  // namespace headrace::python
