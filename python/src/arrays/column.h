// Shared by the column types of a batch: sequences whose rows become Python objects on access. Type slots
// rather than methods, since a loop over a batch calls them once per row.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/core/row_list.h"
#include "python/src/arrays/tensors.h"

namespace headrace::python {

namespace nb = nanobind;

// The column of a Python object; null if Python created the object without a batch.
template <class Column> const Column* column_behind(PyObject* self) {
  return nb::inst_ready(self) ? nb::inst_ptr<Column>(self) : nullptr;
}

// __getitem__ for an index, also negative, or a slice, which gives a list. For any type with Py_sq_length and
// Py_sq_item.
PyObject* column_subscript(PyObject* self, PyObject* key);
// The repr of the list of its rows.
PyObject* column_represent(PyObject* self);
// Pickles as the list of its rows.
nb::tuple column_reduce(nb::handle self);
// Makes isinstance(column, collections.abc.Sequence) true.
void register_as_sequence(nb::handle type);

// A copy of the concatenated bytes of all rows.
BufferPtr joined(const RowList& rows);
// Where each row begins among all values, and where the last one ends: int64 (rows + 1).
template <class Values> nb::object row_splits_of(size_t rows, const Values& values_of_row) {
  const MutableBufferPtr buffer = HeapBuffer::make((rows + 1) * sizeof(int64_t));
  auto* to = reinterpret_cast<int64_t*>(buffer->mutable_data());
  *to = 0;
  for (size_t i = 0; i < rows; ++i) to[i + 1] = to[i] + values_of_row(i);
  return to_python(Tensor{buffer, 0, DType::i64, {static_cast<int64_t>(rows) + 1}, nullptr});
}

}  // namespace headrace::python
