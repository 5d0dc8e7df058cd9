// The four operations, floor division and its remainder, on a tensor and a number and on two tensors. One
// file, because they share one loop with different bodies.
//
// Types follow NumPy 2 for Python numbers: a float tensor keeps its dtype; an integer tensor keeps its own
// with an integer and becomes float32 with a float; division of integers is true division, in float32.
// Integers wrap around. The number is converted to the dtype of the result: 0.1 next to float16 is the
// nearest float16.
//
// floor_divide and remainder are those of Python and NumPy: the quotient is rounded down, and the remainder
// has the sign of the divisor. Integers keep their dtype; for a divisor element of 0 both are 0, as in NumPy.
#include <cmath>
#include <concepts>
#include <type_traits>

#include "headrace/ops/number.h"
#include "headrace/ops/registered.h"

namespace headrace {
namespace {

// Signed overflow wraps: the sum is taken in the unsigned type that integers are promoted to.
template <class T, class F> T wrapping(T a, T b, F f) {
  if constexpr (std::integral<T>) {
    using Unsigned = std::make_unsigned_t<decltype(T{} + T{})>;
    return static_cast<T>(f(static_cast<Unsigned>(a), static_cast<Unsigned>(b)));
  } else {
    return f(a, b);
  }
}

// With the number as the first operand.
template <class Operation> struct Swapped {
  static constexpr bool divides = Operation::divides;
  template <class T> static T apply(T x, T y) { return Operation::apply(y, x); }
};

struct Add {
  static constexpr std::string_view name = "add", doc = "Add a number to every element.";
  static constexpr std::string_view name_of_two = "add_fields",
                                    doc_of_two = "Add two tensors element by element.";
  static constexpr bool divides = false;
  template <class T> static T apply(T x, T y) {
    return wrapping(x, y, [](auto a, auto b) { return a + b; });
  }
};
struct Subtract {
  static constexpr std::string_view name = "subtract", doc = "Subtract a number from every element.";
  static constexpr std::string_view name_of_two = "subtract_fields",
                                    doc_of_two = "Subtract the second tensor from the first.";
  static constexpr bool divides = false;
  template <class T> static T apply(T x, T y) {
    return wrapping(x, y, [](auto a, auto b) { return a - b; });
  }
};
struct SubtractFrom : Swapped<Subtract> {
  static constexpr std::string_view name = "subtract_from",
                                    doc = "Subtract every element from a number: value - x.";
};
struct Multiply {
  static constexpr std::string_view name = "multiply", doc = "Multiply every element by a number.";
  static constexpr std::string_view name_of_two = "multiply_fields",
                                    doc_of_two = "Multiply two tensors element by element.";
  static constexpr bool divides = false;
  template <class T> static T apply(T x, T y) {
    return wrapping(x, y, [](auto a, auto b) { return a * b; });
  }
};
struct Divide {
  static constexpr std::string_view name = "divide",
                                    doc =
                                        "Divide every element by a number; integers become float32, those of "
                                        "more than 16 bits float64.";
  static constexpr std::string_view name_of_two = "divide_fields",
                                    doc_of_two =
                                        "Divide the first tensor by the second; integers become float32, "
                                        "those of more than 16 bits float64.";
  static constexpr bool divides = true;
  template <class T> static T apply(T x, T y) { return x / y; }
};
struct DivideInto : Swapped<Divide> {
  static constexpr std::string_view name = "divide_into",
                                    doc = "Divide a number by every element: value / x.";
};

// Rounded down: where the signs differ and there is a remainder, one less than rounding towards zero.
template <class T> struct Floored {
  T quotient, remainder;
};
template <std::integral T> Floored<T> floored(T x, T y) {
  if (y == 0) return {0, 0};
  if constexpr (std::signed_integral<T>) {
    if (y == -1)
      return {wrapping(T{0}, x, [](auto a, auto b) { return a - b; }), 0};  // also for the lowest value
    const T left = static_cast<T>(x % y);
    const bool below = left != 0 && (left < 0) != (y < 0);
    return {static_cast<T>(x / y - below), static_cast<T>(below ? left + y : left)};
  } else {
    return {static_cast<T>(x / y), static_cast<T>(x % y)};
  }
}
// As CPython's float_divmod: the quotient is the whole number nearest to (x - remainder) / y.
template <std::floating_point T> Floored<T> floored(T x, T y) {
  T left = std::fmod(x, y);
  if (y == 0) return {x / y, left};
  T quotient = (x - left) / y;
  if (left == 0)
    left = std::copysign(T{0}, y);
  else if ((left < 0) != (y < 0))
    left += y, quotient -= 1;
  if (quotient == 0) return {std::copysign(T{0}, x / y), left};
  const T whole = std::floor(quotient);
  return {quotient - whole > T{0.5} ? whole + 1 : whole, left};
}

struct FloorDivide {
  static constexpr std::string_view name = "floor_divide",
                                    doc = "Divide every element by a number and round down.";
  static constexpr std::string_view name_of_two = "floor_divide_fields",
                                    doc_of_two =
                                        "Divide the first tensor by the second and round down; integers "
                                        "divided by 0 give 0.";
  static constexpr bool divides = false, refuses_zero = true;
  template <class T> static T apply(T x, T y) { return floored(x, y).quotient; }
};
struct FloorDivideInto : Swapped<FloorDivide> {
  static constexpr std::string_view name = "floor_divide_into",
                                    doc =
                                        "Divide a number by every element and round down: value // x; "
                                        "integers divided by 0 give 0.";
};
struct Remainder {
  static constexpr std::string_view name = "remainder",
                                    doc =
                                        "Return the remainder of the floor division of every element by a "
                                        "number, with the number's sign: x % value.";
  static constexpr std::string_view
      name_of_two = "remainder_fields",
      doc_of_two =
          "Return the remainder of the floor division of the first tensor by the "
          "second, with the second's sign; for integers divided by 0 it is 0.";
  static constexpr bool divides = false, refuses_zero = true;
  template <class T> static T apply(T x, T y) { return floored(x, y).remainder; }
};
struct RemainderOf : Swapped<Remainder> {
  static constexpr std::string_view name = "remainder_of",
                                    doc =
                                        "Return the remainder of the floor division of a number by every "
                                        "element: value % x; for integers divided by 0 it is 0.";
};

// Calls f.operator()<In, Out>() for an input dtype and an output dtype that is the same or float_of() it.
template <class F> void visit_types(DType in, DType out, F&& f) {
  visit_dtype(in, [&]<class In>() {
    if (in == out)
      f.template operator()<In, In>();
    else if constexpr (std::integral<In>)
      f.template operator()<In, FloatOf<In>>();
  });
}

template <class Operation, class In, class Out> Out combine(In x, typename Element<Out>::Compute y) {
  using Compute = typename Element<Out>::Compute;
  return Element<Out>::store(Operation::apply(static_cast<Compute>(Element<In>::load(x)), y));
}

template <class Operation> struct WithNumber {
  static constexpr std::string_view name = Operation::name, doc = Operation::doc;
  Number value;
  static constexpr std::tuple fields{Field{"value", &WithNumber::value, "The number."}};
  static constexpr std::array inputs{std::string_view("x")};
  static constexpr std::array required{std::string_view("value")};
  static constexpr bool elementwise = true;

  Result<TensorSpec> infer(const TensorSpec& in) const {
    HEADRACE_TRY(check_numeric(in));
    if (is_float(in.dtype)) return in;
    if (Operation::divides || !value.is_integer) return TensorSpec{float_of(in.dtype), in.shape};
    if constexpr (requires { Operation::refuses_zero; })
      if (value.integer == 0) return invalid("value must not be 0 for integers");
    if (!fits(value, in.dtype))
      return invalid("value " + number_text(value) + " does not fit into " +
                     std::string(dtype_name(in.dtype)));
    return in;
  }

  Status run(View in, MutView out, CallContext&) const {
    const auto count = static_cast<size_t>(in.shape.count());
    visit_types(in.dtype, out.dtype, [&]<class In, class Out>() {
      const In* const x = in.as<In>();
      Out* const result = out.as<Out>();
      const auto number = Element<Out>::load(Element<Out>::store(value.as<typename Element<Out>::Compute>()));
      for (size_t i = 0; i < count; ++i) result[i] = combine<Operation, In, Out>(x[i], number);
    });
    return {};
  }
};

template <class Operation> struct OfTwo {
  static constexpr std::string_view name = Operation::name_of_two, doc = Operation::doc_of_two;
  static constexpr std::tuple<> fields{};
  static constexpr std::array inputs{std::string_view("x"), std::string_view("y")};
  static constexpr bool elementwise = true;

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    HEADRACE_TRY(check_numeric(in[0]));
    HEADRACE_TRY(check_numeric(in[1]));
    HEADRACE_ASSIGN(const Shape shape, shape_of_two(in[0], in[1]));
    const bool becomes_float = Operation::divides && !is_float(in[0].dtype);
    return std::vector<TensorSpec>{{becomes_float ? float_of(in[0].dtype) : in[0].dtype, shape}};
  }

  Status run(std::span<const View> in, std::span<const MutView> out, CallContext&) const {
    const auto count = static_cast<size_t>(out[0].shape.count());
    const size_t x_step = in[0].shape.rank() == 0 ? 0 : 1, y_step = in[1].shape.rank() == 0 ? 0 : 1;
    visit_types(in[0].dtype, out[0].dtype, [&]<class In, class Out>() {
      using Compute = typename Element<Out>::Compute;
      const In *const x = in[0].as<In>(), *const y = in[1].as<In>();
      Out* const result = out[0].as<Out>();
      for (size_t i = 0; i < count; ++i)
        result[i] = combine<Operation, In, Out>(x[i * x_step],
                                                static_cast<Compute>(Element<In>::load(y[i * y_step])));
    });
    return {};
  }
};

const Registered<WithNumber<Add>> add;
const Registered<WithNumber<Subtract>> subtract;
const Registered<WithNumber<SubtractFrom>> subtract_from;
const Registered<WithNumber<Multiply>> multiply;
const Registered<WithNumber<Divide>> divide;
const Registered<WithNumber<DivideInto>> divide_into;
const Registered<WithNumber<FloorDivide>> floor_divide;
const Registered<WithNumber<FloorDivideInto>> floor_divide_into;
const Registered<WithNumber<Remainder>> remainder;
const Registered<WithNumber<RemainderOf>> remainder_of;
const Registered<OfTwo<Add>> add_fields;
const Registered<OfTwo<Subtract>> subtract_fields;
const Registered<OfTwo<Multiply>> multiply_fields;
const Registered<OfTwo<Divide>> divide_fields;
const Registered<OfTwo<FloorDivide>> floor_divide_fields;
const Registered<OfTwo<Remainder>> remainder_fields;

}  // namespace
}  // namespace headrace
