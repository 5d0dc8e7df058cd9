// What the columns of a batch have in common: sequences whose rows become Python objects when asked for.
// Slots and not methods: a loop over a batch asks once for each row.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/core/row_list.h"
#include "python/src/arrays/tensors.h"

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

// A copy of the bytes of all rows, one after the other.
BufferPtr joined(const RowList& rows);
// Where each row begins among the values of all, and where the last one ends: i64 (rows + 1).
template <class Values> nb::object row_splits_of(size_t rows, const Values& values_of_row) {
  const MutableBufferPtr buffer = HeapBuffer::make((rows + 1) * sizeof(int64_t));
  auto* to = reinterpret_cast<int64_t*>(buffer->mutable_data());
  *to = 0;
  for (size_t i = 0; i < rows; ++i) to[i + 1] = to[i] + values_of_row(i);
  return to_python(Tensor{buffer, 0, DType::i64, {static_cast<int64_t>(rows) + 1}, nullptr});
}

}  // namespace headrace::python
