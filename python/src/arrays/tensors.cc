#include "python/src/arrays/tensors.h"

#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "headrace/core/row_list.h"
#include "headrace/core/text/utf8.h"
#include "python/src/arrays/bfloat16.h"
#include "python/src/arrays/bytes_column.h"
#include "python/src/arrays/ragged_column.h"
#include "python/src/base/errors.h"
#include "python/src/base/gil.h"
#include "python/src/base/module.h"
#include "python/src/base/text.h"

namespace headrace::python {
namespace {

class ObjectBuffer final : public Buffer {
 public:
  ObjectBuffer(const void* data, size_t size, SharedObject owner)
      : Buffer(static_cast<std::byte*>(const_cast<void*>(data)), size), owner_(std::move(owner)) {}

 private:
  SharedObject owner_;
};

nb::dlpack::dtype dlpack_of(DType type) {
  using nb::dlpack::dtype_code;
  const auto bits = static_cast<uint8_t>(size_of(type) * 8);
  if (type == DType::boolean) return {static_cast<uint8_t>(dtype_code::Bool), 8, 1};
  if (type == DType::bf16) return {static_cast<uint8_t>(dtype_code::UInt), 16, 1};
  if (is_float(type)) return {static_cast<uint8_t>(dtype_code::Float), bits, 1};
  const bool is_signed = type >= DType::i8 && type <= DType::i64;
  return {static_cast<uint8_t>(is_signed ? dtype_code::Int : dtype_code::UInt), bits, 1};
}

DType dtype_of(const nb::dlpack::dtype& type) {
  for (int i = 0; i < kDTypes; ++i) {
    const auto candidate = static_cast<DType>(i);
    if (!is_text(candidate) && candidate != DType::bf16 && dlpack_of(candidate) == type) return candidate;
  }
  using nb::dlpack::dtype_code;
  if (type == nb::dlpack::dtype{static_cast<uint8_t>(dtype_code::Bfloat), 16, 1}) return DType::bf16;
  throw nb::type_error("expected an array of bool, integers of 8 to 64 bits, or floats of 16 to 64 bits");
}

// Bytes with an owner, exposed to NumPy through Python's buffer protocol.
struct Memory {
  std::shared_ptr<const void> owner;
  std::byte* data = nullptr;
  size_t size = 0;
  bool writable = false;
};

int show_memory(PyObject* self, Py_buffer* view, int flags) {
  const Memory& memory = *nb::inst_ptr<Memory>(self);
  return PyBuffer_FillInfo(view, self, memory.data, static_cast<Py_ssize_t>(memory.size),
                           memory.writable ? 0 : 1, flags);
}

PyType_Slot memory_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(show_memory)}, {0, nullptr}};

constexpr size_t kHead = sizeof(PyObject);  // the value of a scalar follows the object header

// Whether the scalars of a type consist of the object header and the value, as NumPy's structs do.
bool has_value_after_head(const nb::object& type, DType value) {
  const nb::object one = type(1);
  Py_buffer memory;
  if (PyObject_GetBuffer(one.ptr(), &memory, PyBUF_SIMPLE) != 0) throw nb::python_error();
  const bool answer = memory.buf == reinterpret_cast<std::byte*>(one.ptr()) + kHead &&
                      memory.len == static_cast<Py_ssize_t>(size_of(value)) &&
                      reinterpret_cast<PyTypeObject*>(type.ptr())->tp_itemsize == 0;
  PyBuffer_Release(&memory);
  return answer;
}

// NumPy's types: looked up once and never released, since the interpreter may be gone by then. For bfloat16
// see bfloat16.h.
struct NumpyTypes {
  nb::object array;
  std::array<nb::object, kDTypes> dtypes, scalars;
  std::array<bool, kDTypes> after_head{};
};
const NumpyTypes& numpy() {
  static const NumpyTypes* types = [] {
    constexpr const char* names[kDTypes] = {"bool",   "uint8",   "uint16",  "uint32", "uint64",
                                            "int8",   "int16",   "int32",   "int64",  "float16",
                                            "uint16", "float32", "float64", "uint8",  "uint8"};
    const auto module = nb::module_::import_("numpy");
    auto* made = new NumpyTypes{module.attr("ndarray"), {}, {}, {}};
    for (size_t i = 0; i < kDTypes; ++i) {
      made->dtypes[i] = module.attr("dtype")(names[i]);
      made->scalars[i] = made->dtypes[i].attr("type");
      made->after_head[i] = has_value_after_head(made->scalars[i], static_cast<DType>(i));
    }
    return made;
  }();
  return *types;
}

// A NumPy scalar, allocated and filled directly, since calling its type would parse the argument. Invalid if
// the type has another layout. The two bools are shared objects.
nb::object scalar(const View& view) {
  const NumpyTypes& types = numpy();
  const auto number = static_cast<size_t>(view.dtype);
  if (view.dtype == DType::bf16) return {};
  if (view.dtype == DType::boolean) return types.scalars[number](*view.as<bool>());
  if (!types.after_head[number]) return {};
  auto* const type = reinterpret_cast<PyTypeObject*>(types.scalars[number].ptr());
  nb::object out = nb::steal(type->tp_alloc(type, 0));
  if (!out.is_valid()) throw nb::python_error();
  std::memcpy(reinterpret_cast<std::byte*>(out.ptr()) + kHead, view.data, size_of(view.dtype));
  return out;
}

// Rank 0 becomes a NumPy scalar, which holds a copy of the value.
nb::object array(DType type, const Shape& shape, Memory memory) {
  const NumpyTypes& types = numpy();
  nb::object dims = nb::steal(PyTuple_New(shape.rank()));
  for (int i = 0; i < shape.rank(); ++i) PyTuple_SetItem(dims.ptr(), i, PyLong_FromLongLong(shape[i]));
  const nb::object& dtype = type == DType::bf16 ? bf16_dtype() : types.dtypes[static_cast<size_t>(type)];
  nb::object made = types.array(dims, dtype, nb::cast(std::move(memory)));
  return shape.rank() == 0 ? nb::object(made[nb::make_tuple()]) : made;
}

nb::object text_to_python(DType type, std::string_view text) {
  const auto size = static_cast<Py_ssize_t>(text.size());
  return made_by_python(type == DType::bytes ? PyBytes_FromStringAndSize(text.data(), size)
                                             : PyUnicode_DecodeUTF8(text.data(), size, nullptr));
}

// The same for the rows of a batch. Latin-1 characters, which Python stores as one byte each, decode faster
// if they are converted to Latin-1 first.
nb::object texts_to_python(const RowList& rows, DType dtype) {
  nb::object out = nb::steal(PyList_New(static_cast<Py_ssize_t>(rows.size())));
  if (!out.is_valid()) throw nb::python_error();
  constexpr size_t kShort = 64;  // bytes: conversion does not pay off below
  std::string latin1;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Text bytes = rows.bytes(i);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    nb::object made;
    if (dtype == DType::str && text.size() >= kShort && utf8_to_latin1(text, latin1))
      made = made_by_python(
          PyUnicode_DecodeLatin1(latin1.data(), static_cast<Py_ssize_t>(latin1.size()), nullptr));
    else
      made = text_to_python(dtype, text);
    PyList_SetItem(out.ptr(), static_cast<Py_ssize_t>(i), made.release().ptr());
  }
  return out;
}

bool is_mine_alone(const Tensor& tensor) {
  return tensor.buffer.use_count() == 1 && !dynamic_cast<const BorrowedBuffer*>(tensor.buffer.get()) &&
         !dynamic_cast<const ObjectBuffer*>(tensor.buffer.get());
}

// The contents of bytes or str; valid as long as the object.
std::string_view text_of(nb::handle leaf) {
  if (nb::isinstance<nb::bytes>(leaf)) {
    const auto bytes = nb::borrow<nb::bytes>(leaf);
    return {bytes.c_str(), bytes.size()};
  }
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(leaf.ptr(), &size);
  if (!data) {
    PyErr_Clear();
    throw nb::value_error(
        ("expected a string of whole characters, got " +
         std::string(nb::str(nb::module_::import_("builtins").attr("ascii")(leaf)).c_str()) +
         " with half of a surrogate pair; .encode(\"utf-8\", \"surrogateescape\") gives its bytes")
            .c_str());
  }
  return {data, static_cast<size_t>(size)};
}

bool is_text_object(nb::handle leaf) {
  return nb::isinstance<nb::bytes>(leaf) || nb::isinstance<nb::str>(leaf);
}

}  // namespace

SharedObject share(nb::object object) {
  return SharedObject(new nb::object(std::move(object)), [](nb::object* held) {
    const Gil gil;
    in_python([&] { delete held; });
  });
}

nb::object to_python(Tensor&& tensor) {
  if (tensor.is_ragged()) {
    const RowList& rows = *tensor.rows;
    const bool of_batches = !rows.empty() && rows.texts().empty() && rows.front().is_ragged();
    if (tensor.dtype == DType::bytes && !of_batches) return bytes_column(tensor);
    if (!is_text(tensor.dtype) && !of_batches) return ragged_column(std::move(tensor));
    if (!of_batches) return texts_to_python(rows, tensor.dtype);
    nb::list out;
    for (const Tensor& row : rows) out.append(to_python(Tensor(row)));
    return out;
  }
  const View view = tensor.view();
  if (is_text(tensor.dtype)) return text_to_python(tensor.dtype, {view.as<char>(), view.size_bytes()});
  if (view.shape.rank() == 0) return copy_to_python(view);
  const bool writable = is_mine_alone(tensor);  // before another owner is added
  Memory memory{tensor.buffer, const_cast<std::byte*>(view.data), view.size_bytes(), writable};
  return array(view.dtype, view.shape, std::move(memory));
}

nb::object row_to_python(const Tensor& row, std::shared_ptr<const void> owner, bool mine) {
  const View view = row.view();
  if (view.shape.rank() == 0) return copy_to_python(view);
  const bool writable = mine && is_mine_alone(row);
  return array(view.dtype, view.shape,
               {std::move(owner), const_cast<std::byte*>(view.data), view.size_bytes(), writable});
}

nb::object memory_of(const Tensor& tensor) {
  const View view = tensor.view();
  return nb::cast(Memory{tensor.buffer, const_cast<std::byte*>(view.data), view.size_bytes(), false});
}

nb::object copy_to_python(const View& view) {
  if (is_text(view.dtype)) return text_to_python(view.dtype, {view.as<char>(), view.size_bytes()});
  if (view.shape.rank() == 0)
    if (nb::object made = scalar(view); made.is_valid()) return made;
  const std::shared_ptr<std::byte[]> held(new std::byte[std::max<size_t>(view.size_bytes(), 1)]);
  if (view.size_bytes() > 0) std::memcpy(held.get(), view.data, view.size_bytes());
  return array(view.dtype, view.shape, {held, held.get(), view.size_bytes(), true});
}

nb::object rows_to_python(const Tensor& batch) {
  if (is_text(batch.dtype)) return to_python(Tensor(batch));
  nb::list out;
  for (const Tensor& row : *batch.rows)
    out.append(row.is_ragged() ? rows_to_python(row) : copy_to_python(row.view()));
  return out;
}

bool is_numpy(nb::handle object) {
  const NumpyTypes& types = numpy();
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()));
  return type == types.array.ptr() ||
         std::any_of(types.scalars.begin(), types.scalars.end(),
                     [type](const nb::object& scalar) { return scalar.ptr() == type; });
}

std::optional<View> view_of_scalar(nb::handle object) {
  const NumpyTypes& types = numpy();
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()));
  for (size_t i = 0; i < kDTypes; ++i) {
    if (types.scalars[i].ptr() != type) continue;
    if (!types.after_head[i]) return std::nullopt;
    return View{static_cast<DType>(i), {}, reinterpret_cast<const std::byte*>(object.ptr()) + kHead};
  }
  return std::nullopt;
}

Tensor to_tensor(nb::handle leaf) {
  if (is_text_object(leaf))
    return text_tensor(text_of(leaf), nb::isinstance<nb::bytes>(leaf) ? DType::bytes : DType::str);
  nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> array;
  if (!nb::try_cast(leaf, array)) {
    const nb::object bits = bits_of_bf16(leaf);
    if (!bits.is_valid()) {
      const bool is_array = nb::hasattr(leaf, "dtype");
      const nb::object type = is_array ? leaf.attr("dtype") : leaf.type().attr("__name__");
      const std::string got = (is_array ? "an array of " : "") + std::string(nb::str(type).c_str());
      throw nb::type_error(("expected an array, a number, bytes or str, got " + got).c_str());
    }
    Tensor out = to_tensor(bits);
    out.dtype = DType::bf16;
    return out;
  }
  if (array.ndim() > kMaxRank) throw nb::type_error("expected an array of at most 8 dimensions");
  Tensor out;
  out.dtype = dtype_of(array.dtype());
  for (size_t i = 0; i < array.ndim(); ++i) out.shape = out.shape.with_front(0);
  for (size_t i = 0; i < array.ndim(); ++i)
    out.shape.set(static_cast<int>(i), static_cast<int64_t>(array.shape(i)));
  out.buffer = std::make_shared<ObjectBuffer>(array.data(), array.nbytes(), share(nb::borrow(leaf)));
  return out;
}

Tensor to_column(const nb::list& rows) {
  std::vector<Tensor> tensors;
  tensors.reserve(rows.size());
  size_t total = 0;
  for (nb::handle row : rows)
    if (is_text_object(row)) total += text_of(row).size();
  const MutableBufferPtr texts =
      HeapBuffer::make(std::max<size_t>(total, 1));  // one block for the text of all rows
  size_t at = 0;
  for (nb::handle row : rows) {
    if (!is_text_object(row)) {
      tensors.push_back(to_tensor(row));
      continue;
    }
    const std::string_view text = text_of(row);
    if (!text.empty()) std::memcpy(texts->mutable_data() + at, text.data(), text.size());
    const DType type = nb::isinstance<nb::bytes>(row) ? DType::bytes : DType::str;
    tensors.push_back({texts, at, type, {static_cast<int64_t>(text.size())}, nullptr});
    at += text.size();
  }
  Tensor out;
  out.shape = {static_cast<int64_t>(rows.size())};
  if (!tensors.empty()) out.dtype = tensors.front().dtype;
  out.rows = std::make_shared<const RowList>(std::move(tensors));
  return out;
}

Tensor to_ragged(nb::handle flat, nb::handle shapes) {
  const Tensor all = to_tensor(flat), dims = to_tensor(shapes);
  if (dims.dtype != DType::i64 || dims.shape.rank() != 2 || dims.shape[1] > kMaxRank)
    throw nb::type_error("expected row shapes as int64 (rows, rank), with at most 8 dimensions");
  const auto rank = static_cast<size_t>(dims.shape[1]);
  const std::span<const int64_t> each(dims.view().as<int64_t>(), static_cast<size_t>(dims.shape.count()));
  if (std::ranges::any_of(each, [](int64_t dim) { return dim < 0; }))
    throw nb::value_error("expected row shapes without negative dimensions");
  std::vector<Tensor> rows;
  rows.reserve(static_cast<size_t>(dims.shape[0]));
  size_t at = 0;
  for (size_t i = 0; i + rank <= each.size() && rank > 0; i += rank) {
    rows.push_back({all.buffer, at, all.dtype, Shape(each.subspan(i, rank)), nullptr});
    at += rows.back().view().size_bytes();
  }
  Tensor out;
  out.dtype = all.dtype, out.shape = {static_cast<int64_t>(rows.size())};
  out.rows = std::make_shared<const RowList>(std::move(rows));
  return out;
}

void bind_tensors(nb::module_& m) {
  nb::class_<Memory>(m, "Memory", nb::type_slots(memory_slots),
                     "The bytes of a tensor; NumPy arrays are created from it.");
  m.def("bf16_dtype", &bf16_dtype,
        "The numpy.dtype of bfloat16: that of ml_dtypes, or uint16 if that is not installed.");
  bind_bytes_column(m);
  bind_ragged_column(m);
}

nb::tuple spec_to_python(const TensorSpec& spec) {
  nb::list dims;
  for (const int64_t dim : spec.shape.dims())
    dims.append(dim == kAny ? nb::none() : nb::object(nb::cast(dim)));
  return nb::make_tuple(std::string(dtype_name(spec.dtype)), nb::tuple(dims));
}

TensorSpec to_spec(nb::handle spec) {
  const auto pair = nb::cast<nb::sequence>(spec);
  TensorSpec out;
  out.dtype = unwrap(parse_dtype(nb::cast<std::string>(pair[0])));
  std::vector<int64_t> dims;
  for (nb::handle dim : nb::cast<nb::sequence>(pair[1]))
    dims.push_back(dim.is_none() ? kAny : nb::cast<int64_t>(dim));
  if (dims.size() > kMaxRank) throw nb::value_error("expected at most 8 dimensions");
  out.shape = Shape(std::span<const int64_t>(dims));
  return out;
}

nb::tuple schema_to_python(const Schema& schema) {
  nb::list names, specs;
  for (const std::string& name : schema.names) names.append(name);
  for (const TensorSpec& spec : schema.specs) specs.append(spec_to_python(spec));
  return nb::make_tuple(names, specs, schema.structure);
}

}  // namespace headrace::python
