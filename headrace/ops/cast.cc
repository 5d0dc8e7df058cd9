#include "headrace/kernels/cast.h"

#include "headrace/ops/registered.h"

namespace headrace {
namespace {

struct Cast {
  static constexpr std::string_view name = "cast";
  static constexpr std::string_view doc =
      "Convert numbers to another dtype. Fractions are truncated; values out of range become the nearest "
      "number that fits.";
  DType dtype = DType::f32;
  static constexpr std::tuple fields{Field{"dtype", &Cast::dtype, "dtype of the result."}};
  static constexpr std::array inputs{std::string_view("data")};
  static constexpr std::array required{std::string_view("dtype")};
  static constexpr bool elementwise = true;

  Status check() const {
    if (!is_text(dtype)) return {};
    return invalid("dtype must be numeric, got " + std::string(dtype_name(dtype)));
  }

  Result<TensorSpec> infer(const TensorSpec& in) const {
    if (is_text(in.dtype)) return invalid({.expected = "numbers", .got = in.text()});
    return TensorSpec{dtype, in.shape};
  }

  Status run(View in, MutView out, CallContext&) const {
    HEADRACE_TRY(infer(in.spec()).status());
    kernels::cast(in.dtype, in.data, in.shape.count(), dtype, out.data);
    return {};
  }
};

const Registered<Cast> registered_cast;

}  // namespace
}  // namespace headrace
