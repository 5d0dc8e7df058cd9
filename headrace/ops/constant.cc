// A field that needs no data: {"image": …, "weight": 1.0} in a traced function.
#include "headrace/ops/number.h"
#include "headrace/ops/registered.h"

namespace headrace {
namespace {

struct Constant {
  static constexpr std::string_view name = "constant";
  static constexpr std::string_view doc = "Make a scalar that is the same for every sample.";
  Number value;
  DType dtype = DType::f32;
  static constexpr std::tuple fields{
      Field{"value", &Constant::value, "The number."},
      Field{"dtype", &Constant::dtype,
            "dtype of the scalar; an integer dtype must be able to hold the number."}};
  static constexpr std::array<std::string_view, 0> inputs{};
  static constexpr std::array required{std::string_view("value")};

  Status check() const {
    if (is_text(dtype)) return invalid("dtype must be numeric, got " + std::string(dtype_name(dtype)));
    if (is_float(dtype) || fits(value, dtype)) return {};
    return invalid("value " + number_text(value) + " does not fit into " + std::string(dtype_name(dtype)));
  }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec>) const {
    return std::vector<TensorSpec>{{dtype, {}}};
  }

  Status run(std::span<const View>, std::span<const MutView> out, CallContext&) const {
    visit_dtype(dtype, [&]<class T>() {
      *out[0].as<T>() = Element<T>::store(value.as<typename Element<T>::Compute>());
    });
    return {};
  }
};

const Registered<Constant> registered_constant;

}  // namespace
}  // namespace headrace
