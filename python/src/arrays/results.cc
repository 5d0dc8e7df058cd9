#include "python/src/arrays/results.h"

#include <cstring>
#include <optional>
#include <string_view>

#include "python/src/arrays/tensors.h"

namespace headrace::python {
namespace {

std::optional<DType> integer_of(bool is_signed, Py_ssize_t size) {
  switch (size) {
    case 1: return is_signed ? DType::i8 : DType::u8;
    case 2: return is_signed ? DType::i16 : DType::u16;
    case 4: return is_signed ? DType::i32 : DType::u32;
    case 8: return is_signed ? DType::i64 : DType::u64;
    default: return std::nullopt;
  }
}

// The dtype of a buffer of single native numbers, by its struct format.
std::optional<DType> dtype_of(const Py_buffer& buffer) {
  if (!buffer.format) return DType::u8;
  std::string_view format = buffer.format;
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == '<')) format.remove_prefix(1);
  if (format.size() != 1) return std::nullopt;
  constexpr std::string_view kSigned = "bhilqn", kUnsigned = "BHILQN";
  if (kSigned.find(format[0]) != std::string_view::npos) return integer_of(true, buffer.itemsize);
  if (kUnsigned.find(format[0]) != std::string_view::npos) return integer_of(false, buffer.itemsize);
  switch (format[0]) {
    case '?': return DType::boolean;
    case 'e': return DType::f16;
    case 'f': return DType::f32;
    case 'd': return DType::f64;
    default: return std::nullopt;
  }
}

template <class T> View number(DType type, T value, std::array<std::byte, 8>& to) {
  static_assert(sizeof(T) <= sizeof(to));
  std::memcpy(to.data(), &value, sizeof value);
  return {type, {}, to.data()};
}

View text(DType type, const char* data, Py_ssize_t size) {
  return {type, {static_cast<int64_t>(size)}, reinterpret_cast<const std::byte*>(data)};
}

}  // namespace

bool Results::add(nb::handle leaf) {
  Item& item = items_.emplace_back();
  if (read(leaf, item)) return true;
  if (PyErr_Occurred()) PyErr_Clear();  // the conversion in Python reports what is wrong with it
  items_.pop_back();
  return false;
}

bool Results::read(nb::handle leaf, Item& out) {
  PyObject* const object = leaf.ptr();
  if (PyBool_Check(object)) {
    out.view = number(DType::boolean, object == Py_True, out.small);
    return true;
  }
  if (PyLong_CheckExact(object)) {
    const long long value = PyLong_AsLongLong(object);
    out.view = number(DType::i64, static_cast<int64_t>(value), out.small);
    return value != -1 || !PyErr_Occurred();
  }
  if (PyFloat_CheckExact(object)) {
    out.view = number(DType::f64, PyFloat_AsDouble(object), out.small);
    return true;
  }
  if (PyBytes_CheckExact(object) || PyUnicode_CheckExact(object)) {
    Py_ssize_t size = 0;
    char* bytes = nullptr;
    const bool is_bytes = PyBytes_CheckExact(object);
    const char* data = nullptr;
    if (is_bytes && PyBytes_AsStringAndSize(object, &bytes, &size) == 0) data = bytes;
    if (!is_bytes) data = PyUnicode_AsUTF8AndSize(object, &size);
    if (!data) return PyErr_Clear(), false;  // to_tensor() says what is wrong
    out.owner = nb::borrow(leaf);
    out.view = text(is_bytes ? DType::bytes : DType::str, data, size);
    return true;
  }
  if (const auto scalar = view_of_scalar(leaf)) {
    std::memcpy(out.small.data(), scalar->data, scalar->size_bytes());
    out.view = {scalar->dtype, {}, out.small.data()};
    return true;
  }
  if (!is_numpy(leaf)) return false;
  if (PyObject_GetBuffer(object, &out.buffer, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) return false;
  out.has_buffer = true;
  const auto type = dtype_of(out.buffer);
  if (!type || out.buffer.ndim > kMaxRank) {
    PyBuffer_Release(&out.buffer);
    out.has_buffer = false;
    return false;
  }
  std::array<int64_t, kMaxRank> dims{};
  for (int i = 0; i < out.buffer.ndim; ++i) dims[static_cast<size_t>(i)] = out.buffer.shape[i];
  out.view = {*type, Shape(std::span<const int64_t>(dims.data(), static_cast<size_t>(out.buffer.ndim))),
              static_cast<const std::byte*>(out.buffer.buf)};
  return true;
}

void Results::add_converted(nb::handle leaf) {
  if (add(leaf)) return;
  Item& item = items_.emplace_back();
  item.tensor = to_tensor(leaf);
  item.view = item.tensor.view();
}

void Results::clear() {
  for (Item& item : items_)
    if (item.has_buffer) PyBuffer_Release(&item.buffer);
  items_.clear();
}

}  // namespace headrace::python
