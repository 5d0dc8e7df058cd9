// How the leaves of a sample nest, as Python objects: the structure of a Schema, prepared for fast traversal.
#pragma once
#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <vector>

#include "headrace/core/value.h"

namespace headrace::python {

namespace nb = nanobind;

// REQUIRES: the GIL is held.
class Nest {
 public:
  explicit Nest(const std::string& structure);  // as in Schema; throws ValueError

  size_t num_leaves() const { return num_leaves_; }
  // Nest the leaves: dicts of type Fields, tuples, or a bare leaf.
  nb::object pack(std::span<const nb::object> leaves) const { return pack(root_, leaves); }
  // The borrowed leaves of a value with the same nesting, of dicts with these keys and tuples. False if it
  // nests differently, or in types that only Python code handles (dataclasses, lists, other mappings).
  // REQUIRES: leaves.size() == num_leaves().
  bool unpack(nb::handle value, std::span<nb::handle> leaves) const { return unpack(root_, value, leaves); }

 private:
  struct Node {
    enum class Kind : uint8_t { leaf, mapping, tuple } kind = Kind::leaf;
    size_t leaf = 0;
    std::vector<nb::object> keys;
    std::vector<Node> children;
  };
  static Node read(const Value& value, size_t& num_leaves);
  nb::object pack(const Node& node, std::span<const nb::object> leaves) const;
  bool unpack(const Node& node, nb::handle value, std::span<nb::handle> leaves) const;

  size_t num_leaves_ = 0;  // counted while root_ is made
  Node root_;
};

}  // namespace headrace::python
