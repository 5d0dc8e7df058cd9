#include "python/src/base/errors.h"

#include <cerrno>
#include <exception>
#include <map>
#include <new>
#include <system_error>

#include "headrace/core/said_by.h"
#include "headrace/core/text/text.h"
#include "python/src/base/text.h"
#include "python/src/base/value.h"

namespace headrace::python {
namespace {

constexpr size_t kStored = 128;  // only the last ones: their frames may hold large objects

// Guarded by `mutex`, which does nothing in builds with a GIL. Never destroyed: the interpreter is gone by
// then.
struct Store {
  nb::ft_mutex mutex;
  struct Entry {
    std::string function, said;  // as in the facts of the Status
    nb::object exception;
  };
  std::map<uint64_t, Entry> exceptions;
  uint64_t next = 0;
};
Store& store() {
  static auto* made = new Store;
  return *made;
}

// The stored exception of a Status. After many failures it may be gone: then the last one of the same
// function that said the same.
nb::object stored_exception(const ErrorFacts& facts) {
  if (facts.exception == 0) return {};
  nb::ft_lock_guard lock(store().mutex);
  const auto& exceptions = store().exceptions;
  const auto it = exceptions.find(facts.exception);
  if (it != exceptions.end()) return it->second.exception;
  for (auto last = exceptions.rbegin(); last != exceptions.rend(); ++last)
    if (last->second.function == facts.op && last->second.said == facts.got) return last->second.exception;
  return {};
}

nb::object exception_class(Code code) {
  const auto own = [](const char* name) { return nb::module_::import_("headrace._errors").attr(name); };
  switch (code) {
    case Code::invalid: return nb::borrow(PyExc_ValueError);
    case Code::corrupt: return own("CorruptSample");
    case Code::exhausted: return nb::borrow(PyExc_MemoryError);
    case Code::unavailable: return nb::borrow(PyExc_NotImplementedError);
    case Code::cancelled: return own("Stopped");
    default: return own("HeadraceError");
  }
}

nb::object text_object(std::string_view text) {
  // File names may hold bytes that are not UTF-8, and the message must be printable.
  nb::object out =
      nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  if (!out.is_valid()) throw nb::python_error();
  return out;
}

// An OSError: something does not exist, or the system refused an operation.
nb::object os_error(const Status& status, const nb::object& message) {
  int number = status.error_number();
  if (number == 0 && status.code() == Code::not_found) number = ENOENT;
  const std::string& path = status.facts().file;
  const nb::object name =
      nb::steal(PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
  if (!name.is_valid()) throw nb::python_error();
  return nb::module_::import_("headrace._errors").attr("os_error")(message, number, name);
}

bool is_error(nb::handle exception) {
  return PyErr_GivenExceptionMatches(exception.ptr(), PyExc_Exception) != 0;
}

// For an exception of C++ that leaves the module.
void set_error(const Status& status) {
  try {
    raise(status);
  } catch (nb::python_error& error) {
    error.restore();
  }
}

}  // namespace

void raise(const Status& status) {
  nb::object cause = stored_exception(status.facts());
  if (cause.is_valid() && !is_error(cause)) {
    PyErr_SetObject(cause.type().ptr(), cause.ptr());
    throw nb::python_error();
  }
  const Code code = status.code();
  // A user's exception may have lines; in a message of ours a line end is that of a name.
  const bool has_lines = code == Code::foreign || code == Code::internal;
  const nb::object message =
      text_object(has_lines ? printable_lines(status.text()) : printable(status.text()));
  const bool is_systems = code == Code::not_found || code == Code::io;
  const nb::object exception = is_systems ? os_error(status, message) : exception_class(code)(message);
  nb::module_::import_("headrace._errors").attr("set_facts")(exception, to_python(status.facts().values()));
  if (cause.is_valid()) PyException_SetCause(exception.ptr(), cause.release().ptr());
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nb::python_error();
}

void register_errors() {
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const std::bad_alloc& e) {
      set_error(said_by(e));
    } catch (const std::system_error& e) {
      set_error(said_by(e));
    }
  });
}

PyObject* with_words(PyObject* made) {
  if (made || !PyErr_ExceptionMatches(PyExc_MemoryError)) return made;
  PyErr_Clear();
  set_error(said_by(std::bad_alloc()));
  return nullptr;
}

Status foreign(nb::python_error& error, std::string_view function) {
  const std::string type = nb::cast<std::string>(nb::str(error.type().attr("__name__")));
  std::string said = nb::cast<std::string>(nb::str(error.value()));
  if (!said.empty()) said = ": " + said;
  nb::ft_lock_guard lock(store().mutex);
  const uint64_t number = ++store().next;
  auto& stored = store().exceptions;
  stored.emplace(number, Store::Entry{std::string(function), type + said, nb::borrow(error.value())});
  if (stored.size() > kStored) stored.erase(stored.begin());
  // Exceptions that end programs (KeyboardInterrupt, SystemExit) are not a sample's fault: no policy skips
  // them.
  const Code code = is_error(error.value()) ? Code::foreign : Code::internal;
  ErrorFacts facts;
  facts.got = type + said, facts.exception = number;
  return Status(code, type + said).with(facts).in_op(function);
}

}  // namespace headrace::python
