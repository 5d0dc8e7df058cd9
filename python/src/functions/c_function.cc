// C functions as operators: makes a CFunction from what headrace._c_function collected.
#include "headrace/ops/c_function.h"

#include <nanobind/nanobind.h>

#include "python/src/arrays/tensors.h"
#include "python/src/base/errors.h"
#include "python/src/base/module.h"
#include "python/src/base/text.h"

namespace headrace::python {
namespace {

// (dtype, [size, name or None, …]).
FieldLayout to_layout(nb::handle spec) {
  const auto pair = nb::cast<nb::sequence>(spec);
  FieldLayout out;
  out.dtype = unwrap(parse_dtype(nb::cast<std::string>(pair[0])));
  for (nb::handle dim : nb::cast<nb::sequence>(pair[1])) {
    if (dim.is_none())
      out.shape.emplace_back(kAny);
    else if (nb::isinstance<nb::str>(dim))
      out.shape.emplace_back(nb::cast<std::string>(dim));
    else
      out.shape.emplace_back(nb::cast<int64_t>(dim));
  }
  return out;
}

FunctionHandle make_c_function(std::string slot, std::string name, std::string version, uintptr_t address,
                               const std::string& calls, const nb::list& inputs, const nb::list& outputs,
                               bool random, uintptr_t user, nb::object owner) {
  CFunction out;
  out.slot = std::move(slot), out.name = std::move(name), out.version = std::move(version);
  out.code = reinterpret_cast<CodePointer>(address);
  out.by_element = calls == "elements";
  for (nb::handle spec : inputs) out.inputs.push_back(to_layout(spec));
  for (nb::handle spec : outputs) out.outputs.push_back(to_layout(spec));
  out.random = random;
  out.user = reinterpret_cast<void*>(user);
  out.owner = share(std::move(owner));
  return {unwrap(c_function_op(std::move(out)))};
}

}  // namespace

void bind_c_functions(nb::module_& m) {
  m.def(
      "dtype_name",
      [](const std::string& name) { return std::string(dtype_name(unwrap(parse_dtype(name)))); },
      nb::arg("name"), "NumPy's name of a dtype, also of the short names in plans: \"float64\" of \"f64\".");
  m.def("make_c_function", &make_c_function, nb::arg("slot"), nb::arg("name"), nb::arg("version"),
        nb::arg("address"), nb::arg("calls"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("random"),
        nb::arg("user"), nb::arg("owner"),
        "An operator from the address of a C function of numbers (calls=\"elements\") or of arrays; it keeps "
        "owner alive.");
}

}  // namespace headrace::python
