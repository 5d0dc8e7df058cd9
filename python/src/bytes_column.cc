#include "bytes_column.h"

#include <algorithm>
#include <cstring>

#include "column.h"
#include "errors.h"
#include "headrace/io/file_map.h"
#include "headrace/run/maps.h"
#include "tensors.h"

namespace headrace::python {
namespace {

constexpr const char* kBytesDoc =
    "A batch's field of bytes: a sequence with one `bytes` for each row, made when it is asked for.\n\n"
    "It shares the batch's memory, which stays as long as the column or a view does; `values` and\n"
    "`row_splits` are all rows at once. It compares, prints and pickles as the list of its rows. Large rows\n"
    "may lie in the file itself (options(map_files=)): a copy of one whose file became shorter meanwhile\n"
    "raises OSError, a view shows zeros.";

struct BytesColumn {
  RowListPtr rows;
};

const RowList& bytes_rows(PyObject* self) {
  static const RowList empty;
  const auto* column = column_behind<BytesColumn>(self);
  return column ? *column->rows : empty;
}

bool may_be_mapped(Text row) { return row.size() >= kMappable.least; }

// That what was copied or is going to be seen is what the file had.
void check_row(Text row) {
  if (may_be_mapped(row)) check(check_intact(row));
}

void check_rows(const RowList& rows) {
  IntactOnes ones;
  for (size_t i = 0; i < rows.size(); ++i)
    if (may_be_mapped(rows.bytes(i))) ones.add(rows.bytes(i));
  if (ones.are_intact()) return;
  for (size_t i = 0; i < rows.size(); ++i) check_row(rows.bytes(i));  // which it is
}

Py_ssize_t bytes_length(PyObject* self) { return static_cast<Py_ssize_t>(bytes_rows(self).size()); }

PyObject* bytes_item(PyObject* self, Py_ssize_t index) {
  const RowList& rows = bytes_rows(self);
  if (index < 0 || static_cast<size_t>(index) >= rows.size()) {
    PyErr_SetString(PyExc_IndexError, "the batch has no such row");
    return nullptr;
  }
  const Text row = rows.bytes(static_cast<size_t>(index));
  nb::object made = nb::steal(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(row.data()),
                                                        static_cast<Py_ssize_t>(row.size())));
  try {
    if (made.is_valid()) check_row(row);
  } catch (nb::python_error& error) {
    error.restore();
    return nullptr;
  }
  return made.release().ptr();
}

PyObject* compare(PyObject* self, PyObject* other, int operation) {
  const bool is_column = is_bytes_column(other);
  if (!is_column && !PyList_Check(other)) return Py_NewRef(Py_NotImplemented);
  const nb::object mine = nb::steal(PySequence_List(self));
  const nb::object theirs = is_column ? nb::steal(PySequence_List(other)) : nb::borrow(other);
  if (!mine.is_valid() || !theirs.is_valid()) return nullptr;
  return PyObject_RichCompare(mine.ptr(), theirs.ptr(), operation);
}

PyType_Slot bytes_slots[] = {{Py_sq_length, reinterpret_cast<void*>(bytes_length)},
                             {Py_sq_item, reinterpret_cast<void*>(bytes_item)},
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

// Rows that nobody cuts short meanwhile and that lie one after the other.
bool lie_side_by_side(const RowList& rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const Text row = rows.bytes(i);
    if (may_be_mapped(row) || (i > 0 && rows.bytes(i - 1).data() + rows.bytes(i - 1).size() != row.data()))
      return false;
  }
  return !rows.empty();
}

nb::object values(const BytesColumn& column) {
  const RowList& rows = *column.rows;
  size_t size = 0;
  for (size_t i = 0; i < rows.size(); ++i) size += rows.bytes(i).size();
  const Shape shape{static_cast<int64_t>(size)};
  if (lie_side_by_side(rows) && size > 0) {
    const auto shared = std::make_shared<BorrowedBuffer>(Text(rows.bytes(0).data(), size), column.rows);
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
      .def("views", views, nb::sig("def views(self) -> list[memoryview]"),
           "Show each row without a copy, as a read-only `memoryview` that keeps the row's memory. Of rows "
           "that lie in\n"
           "the file itself (options(map_files=)) it shows what the file becomes: zeros where it is cut "
           "later.")
      .def_prop_ro(
          "values", values, nb::sig("def values(self) -> numpy.typing.NDArray[numpy.uint8]"),
          "All rows in one array, one after the other: u8 (row_splits[-1]). Row i is\n"
          "values[row_splits[i]:row_splits[i + 1]].\n\n"
          "It shares the batch's memory, and is read-only, where the rows lie side by side there, else "
          "it is a copy.\n\n"
          "Raises:\n    OSError: a row lies in the file itself, which became shorter meanwhile.")
      .def_prop_ro("row_splits", row_splits,
                   nb::sig("def row_splits(self) -> numpy.typing.NDArray[numpy.int64]"),
                   "Where in `values` each row begins, and where the last one ends: i64 (rows + 1).")
      .def("__reduce__", column_reduce,
           nb::sig("def __reduce__(self) -> tuple[type[list[bytes]], tuple[list[bytes]]]"));
  register_as_sequence(m.attr("BytesColumn"));
}

}  // namespace headrace::python
