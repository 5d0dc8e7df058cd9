// Converts std::string to Python's str and back, instead of nanobind/stl/string.h. Strings are UTF-8; other
// bytes, as in file names, are decoded like os.fsdecode does and converted back to the same bytes.
#pragma once
#include <nanobind/nanobind.h>

#include <string>

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

template <> struct type_caster<std::string> {
  NB_TYPE_CASTER(std::string, const_name("str"))

  bool from_python(handle src, uint32_t, cleanup_list*) noexcept {
    if (!PyUnicode_Check(src.ptr())) return false;
    Py_ssize_t size = 0;
    if (const char* text = PyUnicode_AsUTF8AndSize(src.ptr(), &size)) {
      value.assign(text, static_cast<size_t>(size));
      return true;
    }
    PyErr_Clear();
    const object bytes = steal(PyUnicode_AsEncodedString(src.ptr(), "utf-8", "surrogateescape"));
    if (!bytes.is_valid()) return PyErr_Clear(), false;
    value.assign(PyBytes_AS_STRING(bytes.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(bytes.ptr())));
    return true;
  }
  static handle from_cpp(const std::string& value, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "surrogateescape");
  }
};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
