// abs(x).
#include <cmath>
#include <concepts>

#include "headrace/ops/number.h"
#include "headrace/ops/registered.h"

namespace headrace {
namespace {

struct Absolute {
  static constexpr std::string_view name = "absolute";
  static constexpr std::string_view doc =
      "Return the absolute value of every element, in its dtype. The lowest signed integer stays itself, as "
      "in "
      "NumPy.";
  static constexpr std::tuple<> fields{};
  static constexpr std::array inputs{std::string_view("x")};
  static constexpr bool elementwise = true;

  Result<TensorSpec> infer(const TensorSpec& in) const {
    HEADRACE_TRY(check_numeric(in));
    return in;
  }
  Status run(View in, MutView out, CallContext&) const {
    const auto count = static_cast<size_t>(in.shape.count());
    visit_dtype(in.dtype, [&]<class T>() {
      const T* const x = in.as<T>();
      T* const result = out.as<T>();
      for (size_t i = 0; i < count; ++i) result[i] = Element<T>::store(of(Element<T>::load(x[i])));
    });
    return {};
  }

 private:
  template <class T> static T of(T x) {
    if constexpr (std::floating_point<T>)
      return std::fabs(x);
    else if constexpr (std::signed_integral<T>)
      return x < 0 ? static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(x)) : x;
    else
      return x;
  }
};

const Registered<Absolute> registered_absolute;

}  // namespace
}  // namespace headrace
