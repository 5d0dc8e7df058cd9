#include "column.h"

namespace headrace::python {

PyObject* column_subscript(PyObject* self, PyObject* key) {
  if (!PyIndex_Check(key)) {
    const nb::object all = nb::steal(PySequence_List(self));
    return all.is_valid() ? PyObject_GetItem(all.ptr(), key) : nullptr;
  }
  const Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
  if (index == -1 && PyErr_Occurred()) return nullptr;
  return PySequence_GetItem(self, index);  // which counts from the end where it is negative
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

}  // namespace headrace::python
