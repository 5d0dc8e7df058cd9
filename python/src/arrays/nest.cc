#include "python/src/arrays/nest.h"

#include <algorithm>

#include "python/src/base/errors.h"
#include "python/src/base/text.h"

namespace headrace::python {
namespace {

// The dict class of samples; looked up once and never released, since the interpreter may be gone by then.
PyObject* fields_type() {
  static PyObject* const type = nb::module_::import_("headrace._structure").attr("Fields").ptr();
  return type;
}

}  // namespace

Nest::Nest(const std::string& structure) : root_(read(unwrap(Value::parse(structure)), num_leaves_)) {}

Nest::Node Nest::read(const Value& value, size_t& num_leaves) {
  Node out;
  if (const auto* object = value.object()) {
    out.kind = Node::Kind::mapping;
    for (const auto& [key, child] : *object) {
      out.keys.push_back(nb::cast(key));
      out.children.push_back(read(child, num_leaves));
    }
  } else if (const auto* list = value.list()) {
    out.kind = Node::Kind::tuple;
    for (const Value& child : *list) out.children.push_back(read(child, num_leaves));
  } else if (value.integer() && *value.integer() >= 0) {
    out.leaf = static_cast<size_t>(*value.integer());
    num_leaves = std::max(num_leaves, out.leaf + 1);
  } else {
    throw nb::value_error("expected a structure of objects, lists and leaf numbers");
  }
  return out;
}

nb::object Nest::pack(const Node& node, std::span<const nb::object> leaves) const {
  if (node.kind == Node::Kind::leaf) return leaves[node.leaf];
  nb::object out = nb::steal(node.kind == Node::Kind::mapping
                                 ? PyObject_CallObject(fields_type(), nullptr)
                                 : PyTuple_New(static_cast<Py_ssize_t>(node.children.size())));
  if (!out.is_valid()) throw nb::python_error();
  for (size_t i = 0; i < node.children.size(); ++i) {
    nb::object child = pack(node.children[i], leaves);
    if (node.kind == Node::Kind::tuple)
      PyTuple_SetItem(out.ptr(), static_cast<Py_ssize_t>(i), child.release().ptr());
    else if (PyDict_SetItem(out.ptr(), node.keys[i].ptr(), child.ptr()) != 0)
      throw nb::python_error();
  }
  return out;
}

bool Nest::unpack(const Node& node, nb::handle value, std::span<nb::handle> leaves) const {
  const auto size = static_cast<Py_ssize_t>(node.children.size());
  switch (node.kind) {
    case Node::Kind::leaf: leaves[node.leaf] = value; return true;
    case Node::Kind::mapping:
      if (!PyDict_Check(value.ptr()) || PyDict_Size(value.ptr()) != size) return false;
      for (size_t i = 0; i < node.children.size(); ++i) {
        const nb::handle child = PyDict_GetItemWithError(value.ptr(), node.keys[i].ptr());
        if (!child.is_valid()) {
          PyErr_Clear();
          return false;
        }
        if (!unpack(node.children[i], child, leaves)) return false;
      }
      return true;
    case Node::Kind::tuple:
      if (!PyTuple_CheckExact(value.ptr()) || PyTuple_Size(value.ptr()) != size) return false;
      for (size_t i = 0; i < node.children.size(); ++i)
        if (!unpack(node.children[i], PyTuple_GetItem(value.ptr(), static_cast<Py_ssize_t>(i)), leaves))
          return false;
      return true;
  }
  return false;
}

}  // namespace headrace::python
