// Class numbers of one list of names as those of another: the rule of the operator `relabel` and of files
// whose lists differ. Pure; any thread.
#pragma once
#include <concepts>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "headrace/core/little_endian.h"
#include "headrace/core/tensor.h"

namespace headrace {

// Number i becomes numbers[i], and -1, no label, stays. What is wrong with the first number that is neither;
// nothing if all were written to `out`. REQUIRES: integers, and as many bytes at `out` as in the view.
inline std::optional<std::string> renumber(const View& in, std::span<const int64_t> numbers, std::byte* out) {
  std::optional<std::string> wrong;
  visit_dtype(in.dtype, [&]<class T>() {
    if constexpr (std::integral<T> && !std::same_as<T, bool>)
      for (int64_t i = 0; i < in.shape.count(); ++i) {
        const size_t at = static_cast<size_t>(i) * sizeof(T);
        auto number = load<T>(in.data + at);
        if (std::cmp_greater_equal(number, 0) && std::cmp_less(number, numbers.size())) {
          number = static_cast<T>(numbers[static_cast<size_t>(number)]);
        } else if (std::cmp_not_equal(number, -1)) {
          wrong = "expected the number of one of " + std::to_string(numbers.size()) +
                  " classes, or -1, got " + std::to_string(number);
          return;
        }
        std::memcpy(out + at, &number, sizeof number);
      }
  });
  return wrong;
}

}  // namespace headrace
