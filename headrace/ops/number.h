// A number as the user wrote it: 1 and 1.0 differ, because integers keep their dtype with the first and
// become floats with the second. For arithmetic.cc and compare.cc, together with other code they share. Free
// functions and values, any thread.
#pragma once
#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

#include "headrace/core/tensor.h"
#include "headrace/ops/param.h"

namespace headrace {

struct Number {
  bool is_integer = true;
  int64_t integer = 0;
  double real = 0;  // the same number, for floats

  template <class T> T as() const { return is_integer ? static_cast<T>(integer) : static_cast<T>(real); }
};

template <> struct Codec<Number> {
  static std::string py() { return "int | float"; }
  static Value out(const Number& number) {
    return number.is_integer ? Value(number.integer) : Value(number.real);
  }
  static bool in(const Value& value, Number& number) {
    if (const int64_t* integer = value.integer())
      number = {true, *integer, static_cast<double>(*integer)};
    else if (const double* real = value.real())
      number = {false, 0, *real};
    else
      return false;
    return true;
  }
};

// "1" or "0.5", for messages.
std::string number_text(const Number& number);

// An error for text and bool.
Status check_numeric(const TensorSpec& in);

// What integers become where the result is not an integer: float32 for up to 16 bits, as in pixels; for more,
// float64, as in NumPy, which holds ids and times up to 2^53.
inline DType float_of(DType integer) { return size_of(integer) <= 2 ? DType::f32 : DType::f64; }
template <std::integral Integer> using FloatOf = std::conditional_t<sizeof(Integer) <= 2, float, double>;

// Whether an integer dtype can hold the number without changing it.
bool fits(const Number& number, DType dtype);

// The shape of an element-wise operation on two tensors of one dtype: equal shapes, or one of them a scalar.
// An unknown dimension matches any other.
Result<Shape> shape_of_two(const TensorSpec& x, const TensorSpec& y);

// Loads and stores of one element where arithmetic uses another type: f16 and bf16 compute in float.
template <class T> struct Element {
  using Compute = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};
template <> struct Element<half_t> {
  using Compute = float;
  static float load(half_t value) { return f16_to_f32(value.bits); }
  static half_t store(float value) { return {f32_to_f16(value)}; }
};
template <> struct Element<bfloat_t> {
  using Compute = float;
  static float load(bfloat_t value) { return bf16_to_f32(value.bits); }
  static bfloat_t store(float value) { return {f32_to_bf16(value)}; }
};

}  // namespace headrace
