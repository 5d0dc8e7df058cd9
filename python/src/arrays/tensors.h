// Tensors to NumPy arrays and back, without copies where both sides allow it. REQUIRES: the GIL is held.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>

#include "headrace/core/sample.h"
#include "headrace/core/status.h"

namespace headrace::python {

namespace nb = nanobind;

// A Python object that engine threads may hold: copies share it, and the last owner takes the GIL to release
// it.
using SharedObject = std::shared_ptr<nb::object>;
SharedObject share(nb::object object);

// A leaf of a sample: bytes, str, a NumPy scalar (rank 0), an array that shares the tensor's memory, or a
// column of ragged rows; a list for rows of str or of columns. The array is writable if it is the only owner
// of the memory. For bfloat16 see bfloat16.h.
nb::object to_python(Tensor&& tensor);
// A row of those kept by `owner`, like to_python(); writable if the rows are `mine` and nothing else owns the
// memory.
nb::object row_to_python(const Tensor& row, std::shared_ptr<const void> owner, bool mine);
// The tensor's bytes for Python's buffer protocol, read-only and shared.
nb::object memory_of(const Tensor& tensor);
// The same as a copy of borrowed bytes, always writable.
nb::object copy_to_python(const View& view);
// A ragged batch: a list of copies; for text the same as to_python().
nb::object rows_to_python(const Tensor& batch);
// Whether it is an array or scalar of NumPy's own types, which expose their memory.
bool is_numpy(nb::handle object);
// The value of a NumPy scalar in place; nothing for other objects, or if its layout is not known.
std::optional<View> view_of_scalar(nb::handle object);
// Text or a dense array: C-contiguous NumPy arrays share their memory, bytes and str are copied. Throws
// TypeError.
Tensor to_tensor(nb::handle leaf);
// A column with one tensor per row, from a list of bytes, str or arrays.
Tensor to_column(const nb::list& rows);
// A column of arrays that are contiguous in `flat` and share its memory; `shapes` is int64 (rows, rank).
Tensor to_ragged(nb::handle flat, nb::handle shapes);

nb::tuple spec_to_python(const TensorSpec& spec);  // ("uint8", (None, None, 3))
TensorSpec to_spec(nb::handle spec);
nb::tuple schema_to_python(const Schema& schema);  // (names, specs, structure)

}  // namespace headrace::python
