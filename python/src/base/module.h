// The parts of headrace._core, one per wrapped C++ folder, and the handles they share.
#pragma once
#include <nanobind/nanobind.h>

#include <span>

#include "headrace/formats/generator.h"
#include "headrace/formats/options.h"
#include "headrace/formats/source.h"
#include "headrace/graph/node.h"

namespace headrace::python {

namespace nb = nanobind;

struct SourceHandle {
  SourcePtr source;
};
struct GeneratorHandle {
  GeneratorPtr generator;
};
struct EpochOrderHandle {
  EpochOrderPtr order;
};
struct NodeHandle {
  NodePtr node;
};
struct FunctionHandle {
  OpPtr op;
};

nb::list options_to_python(std::span<const OptionInfo> options);  // the known options, as dicts

void bind_tensors(nb::module_& m);
void bind_formats(nb::module_& m);
void bind_ops(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_c_functions(nb::module_& m);
void bind_run(nb::module_& m);
void bind_write(nb::module_& m);

}  // namespace headrace::python
