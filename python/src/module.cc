// headrace._core: the parts of the C++ library that the Python package uses. Internal; users import headrace.
#include "python/src/base/module.h"

#include "python/src/base/errors.h"

NB_MODULE(_core, m) {
  headrace::python::register_errors();
  m.doc() = "The compiled part of Headrace. Use the package headrace.";
  nanobind::set_leak_warnings(false);  // threads may keep functions alive until after the interpreter ends
  headrace::python::bind_tensors(m);
  headrace::python::bind_formats(m);
  headrace::python::bind_ops(m);
  headrace::python::bind_graph(m);
  headrace::python::bind_c_functions(m);
  headrace::python::bind_run(m);
  headrace::python::bind_write(m);
}
