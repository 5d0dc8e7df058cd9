// How the leaves of a sample nest, as Python objects: the structure of a Schema, made ready to be walked
// often.
#pragma once
#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <vector>

#include "headrace/core/value.h"

namespace headrace::python {

namespace nb = nanobind;

// The GIL is held in all of these.
class Nest {
 public:
  explicit Nest(const std::string& structure);  // as in Schema; throws ValueError

  size_t num_leaves() const { return num_leaves_; }
  // The leaves as the structure says: dicts of type Fields, tuples, or a bare leaf.
  nb::object pack(std::span<const nb::object> leaves) const { return pack(root_, leaves); }
  // The leaves of a value that nests in the same way, in dicts with these keys and in tuples; borrowed.
  // False: it nests otherwise, or in what only Python can tell (dataclasses, lists, other mappings).
  // REQUIRES: num_leaves() of them.
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
