// A fixed number of values, on the stack if they are few: the leaves of one sample.
#pragma once
#include <array>
#include <span>
#include <vector>

namespace headrace::python {

template <class T> class Few {
 public:
  explicit Few(size_t size) : size_(size) {
    if (size > few_.size()) many_.resize(size);
  }
  std::span<T> items() { return {many_.empty() ? few_.data() : many_.data(), size_}; }

 private:
  size_t size_;
  std::array<T, 8> few_{};
  std::vector<T> many_;
};

}  // namespace headrace::python
