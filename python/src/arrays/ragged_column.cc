#include "python/src/arrays/ragged_column.h"

#include <algorithm>
#include <cstring>

#include "headrace/core/buffer.h"
#include "headrace/core/row_list.h"
#include "python/src/arrays/column.h"
#include "python/src/arrays/tensors.h"

namespace headrace::python {
namespace {

constexpr const char* kRaggedDoc =
    "A field of a ragged batch: a sequence with one array per row, created on access.\n\n"
    "The arrays share the batch's memory, which stays alive as long as the column or one of them.\n"
    "`values` and `row_splits` give all rows at once. It prints and pickles like the list of its rows.\n\n"
    "Example:\n"
    "    >>> (batch,) = hr.from_arrays({\"x\": [np.ones(2), np.ones(3)]}).batch(2, ragged=True)\n"
    "    >>> batch[\"x\"][1].shape, batch[\"x\"].values.shape, batch[\"x\"].row_splits.tolist()\n"
    "    ((3,), (5,), [0, 2, 5])";

struct RaggedColumn {
  Tensor rows;
  bool is_mine = false;  // this column is the only owner of the rows
};

const RaggedColumn& column_of(PyObject* self) {
  static const RaggedColumn empty{{nullptr, 0, DType::u8, {0}, std::make_shared<const RowList>()}};
  const auto* column = column_behind<RaggedColumn>(self);
  return column ? *column : empty;
}
const std::vector<Tensor>& ragged_rows(PyObject* self) { return column_of(self).rows.rows->tensors(); }

// The result of `make`, or its C++ exception as a Python exception.
template <class F> PyObject* guarded(F&& make) {
  try {
    return make().release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

Py_ssize_t ragged_length(PyObject* self) { return static_cast<Py_ssize_t>(ragged_rows(self).size()); }

PyObject* ragged_item(PyObject* self, Py_ssize_t index) {
  const RaggedColumn& column = column_of(self);
  const std::vector<Tensor>& rows = column.rows.rows->tensors();
  if (index < 0 || static_cast<size_t>(index) >= rows.size()) {
    PyErr_SetString(PyExc_IndexError, "row index out of range");
    return nullptr;
  }
  const Tensor& row = rows[static_cast<size_t>(index)];
  return guarded([&] { return row_to_python(row, column.rows.rows, column.is_mine); });
}

PyType_Slot ragged_slots[] = {{Py_sq_length, reinterpret_cast<void*>(ragged_length)},
                              {Py_sq_item, reinterpret_cast<void*>(ragged_item)},
                              {Py_mp_length, reinterpret_cast<void*>(ragged_length)},
                              {Py_mp_subscript, reinterpret_cast<void*>(column_subscript)},
                              {Py_tp_repr, reinterpret_cast<void*>(column_represent)},
                              {0, nullptr}};

// The common shape of the rows after axis 0; () for rows without dimensions, which are values themselves.
Shape shape_of_a_value(const std::vector<Tensor>& rows) {
  if (rows.empty() || rows[0].shape.rank() == 0) return {};
  const Shape one = rows[0].shape.without_front();
  for (const Tensor& row : rows)
    if (row.shape.rank() == 0 || !(row.shape.without_front() == one))
      throw nb::value_error(("values: expected rows that differ only along axis 0, got shapes " +
                             rows[0].shape.text() + " and " + row.shape.text())
                                .c_str());
  return one;
}

int64_t values_of(const Tensor& row) { return row.shape.rank() == 0 ? 1 : row.shape[0]; }

bool lie_side_by_side(const std::vector<Tensor>& rows) {
  for (size_t i = 1; i < rows.size(); ++i)
    if (rows[i].buffer != rows[0].buffer ||
        rows[i].offset != rows[i - 1].offset + rows[i - 1].view().size_bytes())
      return false;
  return !rows.empty();
}

nb::object ragged_values(const RaggedColumn& column) {
  const std::vector<Tensor>& rows = column.rows.rows->tensors();
  const Shape one = shape_of_a_value(rows);
  int64_t count = 0;
  for (const Tensor& row : rows) count += values_of(row);
  Tensor out{nullptr, 0, column.rows.dtype, one.with_front(count), nullptr};
  if (lie_side_by_side(rows)) {
    out.buffer = rows[0].buffer, out.offset = rows[0].offset;
    return row_to_python(out, column.rows.rows, column.is_mine);
  }
  out.buffer = joined(*column.rows.rows);
  return to_python(std::move(out));
}

nb::object ragged_row_splits(const RaggedColumn& column) {
  const std::vector<Tensor>& rows = column.rows.rows->tensors();
  shape_of_a_value(rows);
  return row_splits_of(rows.size(), [&](size_t i) { return values_of(rows[i]); });
}

}  // namespace

nb::object ragged_column(Tensor&& tensor) {
  const bool is_mine = tensor.rows.use_count() == 1;
  return nb::cast(RaggedColumn{std::move(tensor), is_mine});
}

void bind_ragged_column(nb::module_& m) {
  nb::class_<RaggedColumn>(
      m, "RaggedColumn", nb::type_slots(ragged_slots),
      nb::sig("class RaggedColumn(collections.abc.Sequence[numpy.typing.NDArray[typing.Any]])"), kRaggedDoc)
      .def_prop_ro(
          "values", ragged_values, nb::sig("def values(self) -> numpy.typing.NDArray[typing.Any]"),
          "All rows concatenated along axis 0: the field's dtype, shape (row_splits[-1], *row.shape[1:]).\n\n"
          "It shares the batch's memory if the rows are contiguous there, else it is a copy. Row i is\n"
          "values[row_splits[i]:row_splits[i + 1]]; rows without dimensions are one value each.\n\n"
          "Raises:\n    ValueError: the rows differ along another axis than the first.")
      .def_prop_ro(
          "row_splits", ragged_row_splits,
          nb::sig("def row_splits(self) -> numpy.typing.NDArray[typing.Any]"),
          "Where in `values` each row begins, and where the last one ends: int64, shape (rows + 1,).\n\n"
          "Raises:\n    ValueError: the rows differ along another axis than the first.")
      .def("__reduce__", column_reduce,
           nb::sig("def __reduce__(self) -> tuple[type[list[numpy.typing.NDArray[typing.Any]]], "
                   "tuple[list[numpy.typing.NDArray[typing.Any]]]]"));
  register_as_sequence(m.attr("RaggedColumn"));
}

}  // namespace headrace::python
