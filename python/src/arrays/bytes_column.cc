#include "python/src/arrays/bytes_column.h"

#include <algorithm>
#include <cstring>

#include "headrace/io/file_map.h"
#include "headrace/kernels/copy_far.h"
#include "headrace/run/read/maps.h"
#include "python/src/arrays/column.h"
#include "python/src/arrays/tensors.h"
#include "python/src/base/errors.h"

namespace headrace::python {
namespace {

constexpr const char* kBytesDoc =
    "A batch's field of bytes: a sequence with one `bytes` per row, created on access.\n\n"
    "It shares the batch's memory, which stays alive as long as the column or a view of it. `values` and\n"
    "`row_splits` give all rows at once. It compares, prints and pickles like the list of its rows. Large\n"
    "rows may be mapped from the file (options(map_files=)): if the file is truncated later, copying such a\n"
    "row raises OSError, and a view shows zeros.\n\n"
    "Example:\n"
    "    >>> (batch,) = hr.from_arrays({\"jpg\": [b\"a\", b\"bcd\"]}).batch(2)\n"
    "    >>> batch[\"jpg\"][1], batch[\"jpg\"].row_splits.tolist()\n"
    "    (b'bcd', [0, 1, 4])";

struct BytesColumn {
  RowListPtr rows;
};

const RowList& bytes_rows(PyObject* self) {
  static const RowList empty;
  const auto* column = column_behind<BytesColumn>(self);
  return column ? *column->rows : empty;
}

bool may_be_mapped(Text row) { return row.size() >= kMappable.least; }

// Raise unless the bytes that were copied, or will be viewed, are intact in the file.
void check_row(Text row) {
  if (may_be_mapped(row)) check(check_intact(row));
}

void check_rows(const RowList& rows) {
  IntactOnes ones;
  for (size_t i = 0; i < rows.size(); ++i)
    if (may_be_mapped(rows.bytes(i))) ones.add(rows.bytes(i));
  if (ones.are_intact()) return;
  for (size_t i = 0; i < rows.size(); ++i) check_row(rows.bytes(i));  // raises for the damaged row
}

Py_ssize_t bytes_length(PyObject* self) { return static_cast<Py_ssize_t>(bytes_rows(self).size()); }

PyObject* bytes_of(Text row) {
  if (!may_be_mapped(row))
    return with_words(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(row.data()),
                                                static_cast<Py_ssize_t>(row.size())));
  PyObject* made = with_words(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(row.size())));
  if (!made) return nullptr;
  kernels::copy_far(PyBytes_AS_STRING(made), row.data(), row.size());
  const nb::object owned = nb::steal(made);
  try {
    check_row(row);
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  }
  return Py_NewRef(made);
}

PyObject* bytes_item(PyObject* self, Py_ssize_t index) {
  const RowList& rows = bytes_rows(self);
  if (index < 0 || static_cast<size_t>(index) >= rows.size()) {
    PyErr_SetString(PyExc_IndexError, "row index out of range");
    return nullptr;
  }
  return bytes_of(rows.bytes(static_cast<size_t>(index)));
}

// Iterates over a column: Python's iterator for sequences would create an int and look up the column per row.
struct BytesIterator {
  RowListPtr rows;
  size_t next = 0;
  std::span<const Text> texts;  // the rows, if they are stored as texts
};

PyObject* iterate(PyObject* self) {
  const auto* column = column_behind<BytesColumn>(self);
  try {
    const RowListPtr rows = column ? column->rows : std::make_shared<const RowList>();
    return nb::cast(BytesIterator{rows, 0, rows->texts()}).release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  }
  return nullptr;
}

PyObject* iterate_next(PyObject* self) {
  if (!nb::inst_ready(self)) return nullptr;  // created by Python without a column
  auto* at = nb::inst_ptr<BytesIterator>(self);
  if (at->next < at->texts.size()) return bytes_of(at->texts[at->next++]);
  return at->next < at->rows->size() ? bytes_of(at->rows->bytes(at->next++)) : nullptr;
}

PyObject* compare(PyObject* self, PyObject* other, int operation) {
  const bool is_column = is_bytes_column(other);
  if (!is_column && !PyList_Check(other)) return Py_NewRef(Py_NotImplemented);
  const nb::object mine = nb::steal(PySequence_List(self));
  const nb::object theirs = is_column ? nb::steal(PySequence_List(other)) : nb::borrow(other);
  if (!mine.is_valid() || !theirs.is_valid()) return nullptr;
  return PyObject_RichCompare(mine.ptr(), theirs.ptr(), operation);
}

PyType_Slot iterator_slots[] = {{Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
                                {Py_tp_iternext, reinterpret_cast<void*>(iterate_next)},
                                {0, nullptr}};

PyType_Slot bytes_slots[] = {{Py_sq_length, reinterpret_cast<void*>(bytes_length)},
                             {Py_sq_item, reinterpret_cast<void*>(bytes_item)},
                             {Py_tp_iter, reinterpret_cast<void*>(iterate)},
                             {Py_mp_length, reinterpret_cast<void*>(bytes_length)},
                             {Py_mp_subscript, reinterpret_cast<void*>(column_subscript)},
                             {Py_tp_repr, reinterpret_cast<void*>(column_represent)},
                             {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                             {Py_tp_hash, reinterpret_cast<void*>(PyObject_HashNotImplemented)},
                             {0, nullptr}};

nb::list views(const BytesColumn& column) {
  nb::list out;
  check_rows(*column.rows);
  for (const Tensor& row : *column.rows) {
    nb::object view = nb::steal(PyMemoryView_FromObject(memory_of(row).ptr()));
    if (!view.is_valid()) throw nb::python_error();
    out.append(std::move(view));
  }
  return out;
}

// The bytes of all rows; `data` is set if the rows are contiguous and not mapped from a file.
struct Stretch {
  const std::byte* data = nullptr;
  size_t size = 0;
};
Stretch stretch_of(const RowList& rows) {
  Stretch out;
  bool is_one = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Text row = rows.bytes(i);
    if (i == 0) out.data = row.data();
    is_one = is_one && !may_be_mapped(row) && row.data() == out.data + out.size;
    out.size += row.size();
  }
  return is_one ? out : Stretch{nullptr, out.size};
}

nb::object values(const BytesColumn& column) {
  const RowList& rows = *column.rows;
  const auto [data, size] = stretch_of(rows);
  const Shape shape{static_cast<int64_t>(size)};
  if (data && size > 0) {
    const auto shared = std::make_shared<BorrowedBuffer>(Text(data, size), column.rows);
    return to_python(Tensor{shared, 0, DType::u8, shape, nullptr});
  }
  BufferPtr copied = joined(rows);
  check_rows(rows);
  return to_python(Tensor{std::move(copied), 0, DType::u8, shape, nullptr});
}

nb::object row_splits(const BytesColumn& column) {
  const RowList& rows = *column.rows;
  return row_splits_of(rows.size(), [&](size_t i) { return static_cast<int64_t>(rows.bytes(i).size()); });
}

}  // namespace

nb::object bytes_column(const Tensor& tensor) { return nb::cast(BytesColumn{tensor.rows}); }

bool is_bytes_column(nb::handle object) { return nb::isinstance<BytesColumn>(object); }

void bind_bytes_column(nb::module_& m) {
  nb::class_<BytesColumn>(m, "BytesColumn", nb::type_slots(bytes_slots),
                          nb::sig("class BytesColumn(collections.abc.Sequence[bytes])"), kBytesDoc)
      .def(
          "views", views, nb::sig("def views(self) -> list[memoryview]"),
          "Return each row without a copy, as a read-only `memoryview` that keeps the row's memory alive.\n\n"
          "A view of a row that is mapped from the file (options(map_files=)) shows later changes of the\n"
          "file: zeros where it is truncated.\n\n"
          "Raises:\n    OSError: the file of a mapped row became shorter.")
      .def_prop_ro(
          "values", values, nb::sig("def values(self) -> numpy.typing.NDArray[numpy.uint8]"),
          "All rows concatenated: uint8, shape (row_splits[-1],). Row i is\n"
          "values[row_splits[i]:row_splits[i + 1]].\n\n"
          "If the rows are contiguous in the batch's memory, the array shares it and is read-only; else it\n"
          "is a copy.\n\n"
          "Raises:\n    OSError: the file of a mapped row became shorter.")
      .def_prop_ro(
          "row_splits", row_splits, nb::sig("def row_splits(self) -> numpy.typing.NDArray[numpy.int64]"),
          "Where in `values` each row begins, and where the last one ends: int64, shape (rows + 1,).")
      .def("__reduce__", column_reduce,
           nb::sig("def __reduce__(self) -> tuple[type[list[bytes]], tuple[list[bytes]]]"));
  register_as_sequence(m.attr("BytesColumn"));
  nb::class_<BytesIterator>(m, "BytesIterator", nb::type_slots(iterator_slots),
                            nb::sig("class BytesIterator(collections.abc.Iterator[bytes])"),
                            "An iterator over the rows of a BytesColumn.");
}

}  // namespace headrace::python
