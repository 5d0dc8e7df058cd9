#include "python/src/arrays/bfloat16.h"

#include <atomic>
#include <string>

#include "python/src/base/text.h"

namespace headrace::python {
namespace {

nb::object look_up() {
  const nb::object dtype = nb::module_::import_("numpy").attr("dtype");
  try {
    return dtype(nb::module_::import_("ml_dtypes").attr("bfloat16"));
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
  }
  return dtype("uint16");
}

}  // namespace

const nb::object& bf16_dtype() {
  // Not a C++ static: its guard would be held while an import releases the GIL. Never destroyed, since the
  // interpreter may be gone by then.
  static std::atomic<const nb::object*> known = nullptr;
  if (!known.load()) {
    const auto* const found = new nb::object(look_up());
    const nb::object* expected = nullptr;
    if (!known.compare_exchange_strong(expected, found)) delete found;
  }
  return *known.load();
}

nb::object bits_of_bf16(nb::handle leaf) {
  const nb::object dtype = nb::getattr(leaf, "dtype", nb::none());
  const nb::object name = nb::getattr(dtype, "name", nb::none());
  if (!nb::isinstance<nb::str>(name) || nb::cast<std::string>(name) != "bfloat16") return {};
  const nb::object array = nb::module_::import_("numpy").attr("asarray")(leaf);
  return array.attr("view")("uint16");
}

}  // namespace headrace::python
