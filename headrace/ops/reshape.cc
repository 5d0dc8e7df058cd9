#include <algorithm>

#include "headrace/ops/registered.h"
#include "headrace/ops/whole_shape.h"

namespace headrace {
namespace {

struct Reshape {
  static constexpr std::string_view name = "reshape";
  static constexpr std::string_view doc = "Give the elements of a tensor another shape; their order stays.";
  std::vector<int64_t> shape;
  static constexpr std::tuple fields{
      Field{"shape", &Reshape::shape, "Of the result; one dimension may be -1, for as many as there are."}};
  static constexpr std::array inputs{std::string_view("data")};
  static constexpr std::array required{std::string_view("shape")};

  Status check() const { return check_whole_shape(shape); }

  Result<TensorSpec> infer(const TensorSpec& in) const {
    if (is_text(in.dtype))
      return invalid("wants numbers, got " + in.text() + "; decode_raw makes them of bytes");
    if (!in.shape.is_static()) return TensorSpec{in.dtype, Shape(shape)};  // -1 is kAny
    const auto whole = whole_shape(shape, in.shape.count());
    if (whole) return TensorSpec{in.dtype, *whole};
    return invalid("wants as many elements as shape " + Shape(shape).text() + " has, got " + in.text());
  }

  Result<Shape> measure(View in, const Key&) const {
    HEADRACE_ASSIGN(const TensorSpec out, infer(in.spec()));
    return out.shape;
  }

  Status run(View in, const Key& key, MutView out, Scratch&) const {
    HEADRACE_TRY(measure(in, key).status());
    if (out.size_bytes() > 0) std::copy_n(in.data, out.size_bytes(), out.data);
    return {};
  }
};

const Registered<Reshape> registered_reshape;

}  // namespace
}  // namespace headrace
