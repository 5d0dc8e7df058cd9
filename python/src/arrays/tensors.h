// Tensors to NumPy arrays and back, without copies where both sides allow it. The GIL is held in all of
// these.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>

#include "headrace/core/sample.h"
#include "headrace/core/status.h"

namespace headrace::python {

namespace nb = nanobind;

// A Python object that threads of the engine may hold: copying shares it, and the last owner takes the GIL to
// drop it.
using SharedObject = std::shared_ptr<nb::object>;
SharedObject share(nb::object object);

// A leaf of a sample: bytes, str, a NumPy scalar (rank 0), an array that shares the tensor's memory, or a
// column of ragged rows; a list for rows of str or of columns. The array is writable when nobody else holds
// the memory. bf16 comes as bfloat16.h says.
nb::object to_python(Tensor&& tensor);
// A row of those that `owner` keeps, as to_python() gives it; writable when they are `mine` and nobody holds
// its memory but they.
nb::object row_to_python(const Tensor& row, std::shared_ptr<const void> owner, bool mine);
// The tensor's bytes for Python's buffer protocol, read-only and shared.
nb::object memory_of(const Tensor& tensor);
// The same as a copy of borrowed bytes, always writable.
nb::object copy_to_python(const View& view);
// A batch of rows that are no array: a list of copies; of texts as to_python() gives them.
nb::object rows_to_python(const Tensor& batch);
// Whether it is an array or a scalar of NumPy's own types, which show their memory.
bool is_numpy(nb::handle object);
// The value of a scalar of NumPy, where it lies; nothing for what is none, or does not show where.
std::optional<View> view_of_scalar(nb::handle object);
// Text or a dense array: NumPy arrays in C order share their memory, bytes and str are copied. Throws
// TypeError.
Tensor to_tensor(nb::handle leaf);
// A column of one tensor a row, from a list of bytes or str, or of arrays.
Tensor to_column(const nb::list& rows);
// A column of arrays that lie one after the other in `flat`; `shapes` is i64 (rows, rank). They share its
// memory.
Tensor to_ragged(nb::handle flat, nb::handle shapes);

nb::tuple spec_to_python(const TensorSpec& spec);  // ("u8", (None, None, 3))
TensorSpec to_spec(nb::handle spec);
nb::tuple schema_to_python(const Schema& schema);  // (names, specs, structure)

}  // namespace headrace::python
