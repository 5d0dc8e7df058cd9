#include "headrace/ops/number.h"

namespace headrace {

std::string number_text(const Number& number) { return Codec<Number>::out(number).dump(); }

Status check_numeric(const TensorSpec& in) {
  if (!is_text(in.dtype) && in.dtype != DType::boolean) return {};
  return invalid({.expected = "numbers", .got = in.text()});
}

bool fits(const Number& number, DType dtype) {
  if (!number.is_integer) return false;
  return visit_dtype(dtype, [&]<class T>() {
    if constexpr (std::same_as<T, bool>)
      return number.integer == 0 || number.integer == 1;
    else if constexpr (std::integral<T>)
      return std::in_range<T>(number.integer);
    else
      return true;
  });
}

Result<Shape> shape_of_two(const TensorSpec& x, const TensorSpec& y) {
  if (x.dtype != y.dtype)
    return invalid({.expected = "two tensors of one dtype",
                    .got = x.text() + " and " + y.text(),
                    .fix = "cast one of them"});
  if (x.shape.rank() == 0) return y.shape;
  if (y.shape.rank() == 0) return x.shape;
  bool equal = x.shape.rank() == y.shape.rank();
  Shape shape = x.shape;
  for (int i = 0; equal && i < shape.rank(); ++i) {
    equal = x.shape[i] == y.shape[i] || x.shape[i] == kAny || y.shape[i] == kAny;
    if (shape[i] == kAny) shape.set(i, y.shape[i]);
  }
  if (equal) return shape;
  return invalid({.expected = "equal shapes or a scalar", .got = x.text() + " and " + y.text()});
}

}  // namespace headrace
