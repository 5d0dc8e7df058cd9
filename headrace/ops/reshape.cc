#include <algorithm>

#include "headrace/ops/registered.h"
#include "headrace/ops/whole_shape.h"

namespace headrace {
namespace {

struct Reshape {
  static constexpr std::string_view name = "reshape";
  static constexpr std::string_view doc = "Change the shape of a tensor; the order of its elements is kept.";
  std::vector<int64_t> shape;
  static constexpr std::tuple fields{Field{
      "shape", &Reshape::shape, "Shape of the result; one dimension may be -1, inferred from the rest."}};
  static constexpr std::array inputs{std::string_view("data")};
  static constexpr std::array required{std::string_view("shape")};

  Status check() const { return check_whole_shape(shape); }

  Result<TensorSpec> infer(const TensorSpec& in) const {
    if (is_text(in.dtype))
      return invalid({.expected = "numbers", .got = in.text(), .fix = "decode_raw converts bytes"});
    if (!in.shape.is_static()) return TensorSpec{in.dtype, Shape(shape)};  // -1 is kAny
    const auto whole = whole_shape(shape, in.shape.count());
    if (whole) return TensorSpec{in.dtype, *whole};
    return invalid({.expected = "the number of elements of shape " + Shape(shape).text(), .got = in.text()});
  }

  Result<Shape> measure(View in, CallContext&) const {
    HEADRACE_ASSIGN(const TensorSpec out, infer(in.spec()));
    return out.shape;
  }

  Status run(View in, MutView out, CallContext& call) const {
    HEADRACE_TRY(measure(in, call).status());
    if (out.size_bytes() > 0) std::copy_n(in.data, out.size_bytes(), out.data);
    return {};
  }
};

const Registered<Reshape> registered_reshape;

}  // namespace
}  // namespace headrace
