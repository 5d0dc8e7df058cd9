// headrace._core: what the Python package needs of the C++ library. Not for users; headrace/*.py is.
#include "python/src/base/module.h"

NB_MODULE(_core, m) {
  m.doc() = "The compiled half of Headrace. Use the package headrace.";
  nanobind::set_leak_warnings(false);  // functions may outlive the interpreter in threads that end last
  headrace::python::bind_tensors(m);
  headrace::python::bind_formats(m);
  headrace::python::bind_ops(m);
  headrace::python::bind_graph(m);
  headrace::python::bind_c_functions(m);
  headrace::python::bind_joins(m);
  headrace::python::bind_run(m);
  headrace::python::bind_write(m);
}
