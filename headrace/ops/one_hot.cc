#include <algorithm>
#include <concepts>

#include "headrace/ops/number.h"
#include "headrace/ops/registered.h"

namespace headrace {
namespace {

struct OneHot {
  static constexpr std::string_view name = "one_hot";
  static constexpr std::string_view doc =
      "Turn each index into a row of `depth` values, `on_value` at the index and `off_value` elsewhere, as "
      "tf.one_hot does. An index below 0 or from `depth` on gives a row of `off_value` only.";
  int64_t depth = 0;
  Number on_value{true, 1, 1}, off_value;
  DType dtype = DType::f32;
  static constexpr std::tuple fields{
      Field{"depth", &OneHot::depth, "Length of a row: how many classes there are."},
      Field{"on_value", &OneHot::on_value, "Value at the index."},
      Field{"off_value", &OneHot::off_value, "Value everywhere else."},
      Field{"dtype", &OneHot::dtype,
            "dtype of the result; an integer dtype must be able to hold both values."}};
  static constexpr std::array inputs{std::string_view("indices")};
  static constexpr std::array required{std::string_view("depth")};

  Status check() const {
    if (depth < 1) return invalid("depth must be at least 1, got " + std::to_string(depth));
    if (is_text(dtype)) return invalid("dtype must be numeric, got " + std::string(dtype_name(dtype)));
    for (const Number& value : {on_value, off_value})
      if (!is_float(dtype) && !fits(value, dtype))
        return invalid("value " + number_text(value) + " does not fit into " +
                       std::string(dtype_name(dtype)));
    return {};
  }

  Result<TensorSpec> infer(const TensorSpec& in) const {
    if (is_text(in.dtype) || is_float(in.dtype) || in.dtype == DType::boolean)
      return invalid({.expected = "integers", .got = in.text()});
    if (in.shape.rank() == kMaxRank) return invalid({.expected = "at most 7 dimensions", .got = in.text()});
    std::array<int64_t, kMaxRank> dims{};
    std::ranges::copy(in.shape.dims(), dims.begin());
    const auto rank = static_cast<size_t>(in.shape.rank());
    dims[rank] = depth;
    return TensorSpec{dtype, Shape(std::span<const int64_t>(dims.data(), rank + 1))};
  }

  Status run(View in, MutView out, CallContext&) const {
    visit_dtype(dtype, [&]<class T>() {
      const auto value = [](const Number& n) {
        return Element<T>::store(n.as<typename Element<T>::Compute>());
      };
      const T on = value(on_value);
      std::fill_n(out.as<T>(), out.shape.count(), value(off_value));
      visit_dtype(in.dtype, [&]<class I>() {
        if constexpr (std::integral<I> && !std::same_as<I, bool>)
          for (int64_t i = 0; i < in.shape.count(); ++i)
            if (const I at = in.as<I>()[i]; std::cmp_greater_equal(at, 0) && std::cmp_less(at, depth))
              out.as<T>()[i * depth + static_cast<int64_t>(at)] = on;
      });
    });
    return {};
  }
};

const Registered<OneHot> registered_one_hot;

}  // namespace
}  // namespace headrace
