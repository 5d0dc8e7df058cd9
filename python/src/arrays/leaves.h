// The leaves of a sample that Python code returned, as views that the engine can copy.
#pragma once
#include <nanobind/nanobind.h>

#include <algorithm>
#include <vector>

#include "python/src/arrays/nest.h"
#include "python/src/arrays/results.h"

namespace headrace::python {

namespace nb = nanobind;

// Larger arrays are shared if that is safe; copying smaller ones costs less than sharing them.
inline constexpr size_t kMostCopied = 16384;

// REQUIRES: the GIL is held, also for the destructor.
class Leaves {
 public:
  // `specs` outlives this object.
  Leaves(const Nest& nest, const std::vector<TensorSpec>& specs)
      : nest_(nest), specs_(specs), results_(nest.num_leaves()) {}

  // Read the leaves of `value`, or of the list that `convert(value)` returns if `value` does not consist of
  // dicts, tuples, numbers, bytes, str and C-contiguous arrays in the expected nesting and of the expected
  // specs. Valid until the next read() or clear(). REQUIRES: the value outlives them.
  template <class Convert> void read(const nb::object& value, Convert&& convert) {
    clear();
    leaves_.resize(nest_.num_leaves());
    if (nest_.unpack(value, leaves_) &&
        std::ranges::all_of(leaves_, [&](nb::handle leaf) { return results_.add_fitting(leaf, specs_); }))
      return;
    clear();
    converted_ = nb::cast<nb::list>(convert(value));
    for (nb::handle leaf : converted_) leaves_.push_back(leaf), results_.add_converted(leaf);
  }
  void clear() { results_.clear(), leaves_.clear(), converted_ = {}; }

  size_t size() const { return results_.size(); }
  const View& view(size_t i) const { return results_.view(i); }
  nb::handle leaf(size_t i) const { return leaves_[i]; }
  // Whether to copy the leaf rather than share it.
  bool is_small(size_t i) const { return is_text(view(i).dtype) || view(i).size_bytes() <= kMostCopied; }

 private:
  const Nest& nest_;
  const std::vector<TensorSpec>& specs_;
  Results results_;
  std::vector<nb::handle> leaves_;  // of the value, or of `converted_`
  nb::object converted_;
};

}  // namespace headrace::python
