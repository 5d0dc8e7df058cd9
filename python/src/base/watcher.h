// Watches long work while it runs: Python's signals, and a progress function.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>

#include "python/src/base/gil.h"
#include "python/src/base/module.h"

namespace headrace::python {

// Keeps what the function or a signal handler raises until the engine has stopped.
class Watcher {
 public:
  explicit Watcher(nb::handle function) : function_(nb::borrow(function)) {}
  // Called without the GIL; `arguments()` is called with it and returns a tuple. False: the work must stop.
  template <class F> bool watch(F&& arguments) {
    const Gil gil;
    try {
      if (in_python(PyErr_CheckSignals) != 0) throw nb::python_error();
      if (function_.is_none()) return true;
      return !in_python([&] { return function_(*arguments()); }).is(nb::handle(Py_False));
    } catch (nb::python_error& error) {
      raised_.emplace(error);
      return false;
    }
  }
  void rethrow() {
    if (raised_) throw nb::python_error(*raised_);
  }

 private:
  nb::object function_;
  std::optional<nb::python_error> raised_;
};

}  // namespace headrace::python
