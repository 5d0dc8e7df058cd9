#include "python/src/arrays/column.h"

#include <algorithm>
#include <cstring>

namespace headrace::python {

PyObject* column_subscript(PyObject* self, PyObject* key) {
  if (!PyIndex_Check(key)) {
    const nb::object all = nb::steal(PySequence_List(self));
    return all.is_valid() ? PyObject_GetItem(all.ptr(), key) : nullptr;
  }
  const Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
  if (index == -1 && PyErr_Occurred()) return nullptr;
  return PySequence_GetItem(self, index);  // handles negative indices
}

PyObject* column_represent(PyObject* self) {
  const nb::object all = nb::steal(PySequence_List(self));
  return all.is_valid() ? PyObject_Repr(all.ptr()) : nullptr;
}

nb::tuple column_reduce(nb::handle self) {
  const nb::object list = nb::borrow(reinterpret_cast<PyObject*>(&PyList_Type));
  return nb::make_tuple(list, nb::make_tuple(list(self)));
}

void register_as_sequence(nb::handle type) {
  nb::module_::import_("collections.abc").attr("Sequence").attr("register")(type);
}

BufferPtr joined(const RowList& rows) {
  size_t size = 0;
  for (size_t i = 0; i < rows.size(); ++i) size += rows.bytes(i).size();
  MutableBufferPtr buffer = HeapBuffer::make(std::max<size_t>(size, 1));
  std::byte* to = buffer->mutable_data();
  for (size_t i = 0; i < rows.size(); ++i) {
    const Text row = rows.bytes(i);
    if (!row.empty()) std::memcpy(to, row.data(), row.size());
    to += row.size();
  }
  return buffer;
}

}  // namespace headrace::python
