#include "errors.h"

#include <nanobind/stl/string.h>

#include <map>

namespace headrace::python {
namespace {

constexpr size_t kStored = 128;  // beyond the 100 failures in a row that on_error("replace") allows
constexpr char kMark = '\x1f';   // around the number of a stored exception in a Status' text

// Guarded by the GIL. Never destroyed: Python is gone by then.
struct Store {
  std::map<uint64_t, nb::object> exceptions;
  uint64_t next = 0;
};
Store& store() {
  static auto* made = new Store;
  return *made;
}

// The number behind the first mark; 0 when there is none.
uint64_t number_of(std::string_view text) {
  const size_t at = text.find(kMark);
  return at == std::string_view::npos ? 0 : std::strtoull(text.data() + at + 1, nullptr, 10);
}

nb::object exception_class(Code code) {
  const auto own = [](const char* name) { return nb::module_::import_("headrace._errors").attr(name); };
  switch (code) {
    case Code::invalid: return nb::borrow(PyExc_ValueError);
    case Code::corrupt: return own("CorruptSample");
    case Code::not_found: return nb::borrow(PyExc_FileNotFoundError);
    case Code::io: return nb::borrow(PyExc_OSError);
    case Code::exhausted: return nb::borrow(PyExc_MemoryError);
    case Code::unavailable: return nb::borrow(PyExc_NotImplementedError);
    default: return own("HeadraceError");
  }
}

}  // namespace

std::string shown_text(std::string_view text) {
  std::string out(text);
  for (size_t begin; (begin = out.find(kMark)) != std::string::npos;) {
    const size_t end = out.find(kMark, begin + 1);
    out.erase(begin, end == std::string::npos ? std::string::npos : end + 1 - begin);
  }
  return out;
}

void raise(const Status& status) {
  const nb::object type = exception_class(status.code());
  const nb::object exception = type(shown_text(status.text()));
  auto& stored = store().exceptions;
  if (const auto it = stored.find(number_of(status.text())); it != stored.end())
    PyException_SetCause(exception.ptr(), nb::object(it->second).release().ptr());
  PyErr_SetObject(type.ptr(), exception.ptr());
  throw nb::python_error();
}

Status foreign(nb::python_error& error, std::string_view function) {
  const uint64_t number = ++store().next;
  auto& stored = store().exceptions;
  stored.emplace(number, nb::borrow(error.value()));
  if (stored.size() > kStored) stored.erase(stored.begin());
  const std::string type = nb::cast<std::string>(nb::str(error.type().attr("__name__")));
  std::string said = nb::cast<std::string>(nb::str(error.value()));
  if (!said.empty()) said = ": " + said;
  return {Code::foreign,
          std::string(function) + ": " + type + said + kMark + std::to_string(number) + kMark};
}

}  // namespace headrace::python
