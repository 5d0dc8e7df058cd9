// Class numbers of one list of names as those of another list: what align_labels adds to data sets that are
// joined.
#include <algorithm>
#include <concepts>
#include <limits>
#include <string>
#include <utility>

#include "headrace/core/renumber.h"
#include "headrace/ops/registered.h"

namespace headrace {
namespace {

struct Relabel {
  static constexpr std::string_view name = "relabel";
  static constexpr std::string_view doc =
      "Replace class numbers: i becomes `numbers[i]`. -1, no label, stays; any other number that is not one "
      "of "
      "a class is an error of its sample.";
  std::vector<int64_t> numbers;
  std::vector<std::string> classes;
  static constexpr std::tuple fields{
      Field{"numbers", &Relabel::numbers, "The new number of each class."},
      Field{"classes", &Relabel::classes,
            "Names of the classes by their new numbers, which `metadata` has then; not used otherwise."}};
  static constexpr std::array inputs{std::string_view("labels")};
  static constexpr std::array required{std::string_view("numbers")};
  static constexpr bool elementwise = true;

  Status check() const {
    if (numbers.empty()) return invalid("numbers must have at least one number, got none");
    const auto most =
        classes.empty() ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(classes.size()) - 1;
    for (const int64_t number : numbers)
      if (number < -1 || number > most)
        return invalid("numbers must be from -1 to " + std::to_string(most) + ", got " +
                       std::to_string(number));
    return {};
  }

  Result<TensorSpec> infer(const TensorSpec& in) const {
    if (is_text(in.dtype) || is_float(in.dtype) || in.dtype == DType::boolean)
      return invalid({.expected = "integers", .got = in.text()});
    const auto [least, most] = std::ranges::minmax(numbers);
    bool fits = true;
    visit_dtype(in.dtype, [&, least = least, most = most]<class T>() {
      if constexpr (std::integral<T> && !std::same_as<T, bool>)
        fits = std::in_range<T>(least) && std::in_range<T>(most);
    });
    if (fits) return in;
    return invalid({.expected = "a dtype that can hold numbers from " + std::to_string(least) + " to " +
                                std::to_string(most),
                    .got = in.text()});
  }

  Status run(View in, MutView out, CallContext&) const {
    if (auto wrong = renumber(in, numbers, out.data)) return invalid(*std::move(wrong));
    return {};
  }
};

const Registered<Relabel> registered_relabel;

}  // namespace
}  // namespace headrace
