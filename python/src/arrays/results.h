// The results of a Python function, as views that the engine can copy, without creating arrays for objects
// that expose their memory.
#pragma once
#include <nanobind/nanobind.h>

#include <array>
#include <vector>

#include "headrace/core/tensor.h"

namespace headrace::python {

namespace nb = nanobind;

// REQUIRES: the GIL is held, also for the destructor.
class Results {
 public:
  explicit Results(size_t num_leaves) { items_.reserve(num_leaves); }
  ~Results() { clear(); }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  // Add one leaf: a number, bytes, str, a NumPy scalar or a C-contiguous array. False if it is something
  // else, which may still be convertible. REQUIRES: fewer than num_leaves so far.
  bool add(nb::handle leaf);
  // The same for a leaf that the spec of its place in `specs` admits; false also if it does not, or has none.
  bool add_fitting(nb::handle leaf, const std::vector<TensorSpec>& specs) {
    const size_t at = items_.size();
    return add(leaf) && at < specs.size() && specs[at].admits(view(at).spec());
  }
  // Add a leaf converted by Python code (headrace._function.to_leaf). Throws TypeError.
  void add_converted(nb::handle leaf);
  void clear();
  size_t size() const { return items_.size(); }
  const View& view(size_t i) const { return items_[i].view; }

 private:
  struct Item {
    View view;                         // of `small`, `buffer`, or the memory of `owner`
    std::array<std::byte, 8> small{};  // the value of a number
    nb::object owner;                  // bytes, str
    Py_buffer buffer{};                // of an array
    bool has_buffer = false;
    Tensor tensor;  // of an object without a buffer
  };
  bool read(nb::handle leaf, Item& out);

  std::vector<Item> items_;  // never grows beyond its reserved size: views point into it
};

}  // namespace headrace::python
