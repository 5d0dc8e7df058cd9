#include "bytes_column.h"

#include "column.h"
#include "errors.h"
#include "headrace/io/file_map.h"
#include "headrace/run/maps.h"
#include "tensors.h"

namespace headrace::python {
namespace {

constexpr const char* kBytesDoc =
    "A batch's field of bytes: a sequence with one `bytes` for each row, made when it is asked for.\n\n"
    "It shares the batch's memory, which stays as long as the column or a view does. It compares, prints "
    "and\n"
    "pickles as the list of its rows. Large rows may lie in the file itself (options(map_files=)): a copy of "
    "one\n"
    "whose file became shorter meanwhile raises OSError, a view shows zeros.";

struct BytesColumn {
  std::shared_ptr<const std::vector<Tensor>> rows;
};

const std::vector<Tensor>& bytes_rows(PyObject* self) {
  static const std::vector<Tensor> empty;
  const auto* column = column_behind<BytesColumn>(self);
  return column ? *column->rows : empty;
}

// What of a row may lie in a file.
std::span<const std::byte> mappable(const Tensor& row) {
  if (!row.buffer || static_cast<size_t>(row.shape[0]) < kMappable.least) return {};
  return {row.buffer->data() + row.offset, static_cast<size_t>(row.shape[0])};
}

// That what was copied or is going to be seen is what the file had.
void check_row(const Tensor& row) {
  if (const auto bytes = mappable(row); !bytes.empty()) check(check_intact(bytes));
}

void check_rows(const std::vector<Tensor>& rows) {
  IntactOnes ones;
  for (const Tensor& row : rows)
    if (const auto bytes = mappable(row); !bytes.empty()) ones.add(bytes);
  if (ones.are_intact()) return;
  for (const Tensor& row : rows) check_row(row);  // which it is
}

Py_ssize_t bytes_length(PyObject* self) { return static_cast<Py_ssize_t>(bytes_rows(self).size()); }

PyObject* bytes_item(PyObject* self, Py_ssize_t index) {
  const std::vector<Tensor>& rows = bytes_rows(self);
  if (index < 0 || static_cast<size_t>(index) >= rows.size()) {
    PyErr_SetString(PyExc_IndexError, "the batch has no such row");
    return nullptr;
  }
  const Tensor& row = rows[static_cast<size_t>(index)];
  const std::byte* data = row.buffer ? row.buffer->data() + row.offset : nullptr;
  nb::object made = nb::steal(
      PyBytes_FromStringAndSize(reinterpret_cast<const char*>(data), static_cast<Py_ssize_t>(row.shape[0])));
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
      .def("__reduce__", column_reduce,
           nb::sig("def __reduce__(self) -> tuple[type[list[bytes]], tuple[list[bytes]]]"));
  register_as_sequence(m.attr("BytesColumn"));
}

}  // namespace headrace::python
