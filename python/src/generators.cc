#include "generators.h"

namespace headrace::python {

Generators::Rekeyed Generators::make() {
  const nb::object made = nb::module_::import_("headrace._function").attr("Rekeyed")();
  Rekeyed out{made.attr("generator"), made.attr("bits"), made.attr("state"), made.attr("key")};
  Py_buffer memory;
  if (PyObject_GetBuffer(out.key.ptr(), &memory, PyBUF_WRITABLE) != 0) throw nb::python_error();
  out.words = static_cast<uint64_t*>(memory.buf);
  PyBuffer_Release(&memory);  // the array stays where it is
  return out;
}

Generators::Lent Generators::lend(uint64_t low, uint64_t high) {
  Rekeyed made;
  {
    nb::ft_lock_guard lock(mutex_);
    if (!free_.empty()) {
      made = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!made.words) made = make();
  made.words[0] = low, made.words[1] = high;
  static PyObject* const name = PyUnicode_InternFromString("state");
  if (PyObject_SetAttr(made.bits.ptr(), name, made.state.ptr()) != 0) throw nb::python_error();
  return {*this, std::move(made)};
}

}  // namespace headrace::python
