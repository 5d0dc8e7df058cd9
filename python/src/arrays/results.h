// What a Python function returned, as views that the engine can copy: no array of our own is made where the
// object already shows its memory.
#pragma once
#include <nanobind/nanobind.h>

#include <array>
#include <vector>

#include "headrace/core/tensor.h"

namespace headrace::python {

namespace nb = nanobind;

// The GIL is held in all of these, the destructor too.
class Results {
 public:
  explicit Results(size_t num_leaves) { items_.reserve(num_leaves); }
  ~Results() { clear(); }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  // Add one leaf: a number, bytes, str, a scalar of NumPy or an array in C order. False: it is something
  // else, which may yet become one of these. REQUIRES: fewer than num_leaves so far.
  bool add(nb::handle leaf);
  // Add one that Python made of it (headrace._function.to_leaf). Throws TypeError.
  void add_converted(nb::handle leaf);
  void clear();
  size_t size() const { return items_.size(); }
  const View& view(size_t i) const { return items_[i].view; }

 private:
  struct Item {
    View view;                         // of `small`, `buffer`, or what `owner` holds
    std::array<std::byte, 8> small{};  // a number itself
    nb::object owner;                  // bytes, str
    Py_buffer buffer{};                // of an array
    bool has_buffer = false;
    Tensor tensor;  // of one that shows no buffer
  };
  bool read(nb::handle leaf, Item& out);

  std::vector<Item> items_;  // never grown beyond what was reserved: views point into it
};

}  // namespace headrace::python
