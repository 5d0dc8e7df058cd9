// Comparisons of a tensor with a number and of two tensors, and logic on the results. All results are bool.
//
// A float tensor sees the number in its own dtype, as in NumPy 2; an integer tensor is compared with the
// number itself, so that uint8 < 300 is true and uint8 < 0.5 is exact.
#include <functional>

#include "headrace/ops/number.h"
#include "headrace/ops/registered.h"

namespace headrace {
namespace {

struct Less : std::less<> {
  static constexpr std::string_view name = "less", doc = "Whether x < value, element by element.";
  static constexpr std::string_view name_of_two = "less_fields",
                                    doc_of_two = "Whether x < y, element by element.";
};
struct LessEqual : std::less_equal<> {
  static constexpr std::string_view name = "less_equal", doc = "Whether x <= value, element by element.";
  static constexpr std::string_view name_of_two = "less_equal_fields",
                                    doc_of_two = "Whether x <= y, element by element.";
};
struct Greater : std::greater<> {
  static constexpr std::string_view name = "greater", doc = "Whether x > value, element by element.";
  static constexpr std::string_view name_of_two = "greater_fields",
                                    doc_of_two = "Whether x > y, element by element.";
};
struct GreaterEqual : std::greater_equal<> {
  static constexpr std::string_view name = "greater_equal", doc = "Whether x >= value, element by element.";
  static constexpr std::string_view name_of_two = "greater_equal_fields",
                                    doc_of_two = "Whether x >= y, element by element.";
};
struct Equal : std::equal_to<> {
  static constexpr std::string_view name = "equal", doc = "Whether x == value, element by element.";
  static constexpr std::string_view name_of_two = "equal_fields",
                                    doc_of_two = "Whether x == y, element by element.";
};
struct NotEqual : std::not_equal_to<> {
  static constexpr std::string_view name = "not_equal", doc = "Whether x != value, element by element.";
  static constexpr std::string_view name_of_two = "not_equal_fields",
                                    doc_of_two = "Whether x != y, element by element.";
};

Status check_comparable(const TensorSpec& in) {
  return is_text(in.dtype) ? invalid({.expected = "numbers or bool", .got = in.text()}) : Status();
}

// Compares in a type that holds every element and the number exactly, where there is one.
template <class Comparison, class T>
void compare_with(const T* x, size_t count, const Number& number, bool* out) {
  const auto loop = [&](auto value) {
    for (size_t i = 0; i < count; ++i)
      out[i] = Comparison()(static_cast<decltype(value)>(Element<T>::load(x[i])), value);
  };
  if constexpr (!std::integral<T>) {
    loop(static_cast<typename Element<T>::Compute>(
        Element<T>::load(Element<T>::store(static_cast<typename Element<T>::Compute>(number.real)))));
  } else if (!number.is_integer) {
    loop(number.real);
  } else if constexpr (std::same_as<T, bool>) {
    loop(number.integer);
  } else if (std::in_range<T>(number.integer)) {
    loop(static_cast<T>(number.integer));
  } else {  // beyond all values of T: any element will do
    for (size_t i = 0; i < count; ++i) out[i] = Comparison()(0, number.integer < 0 ? -1 : 1);
  }
}

template <class Comparison> struct CompareWithNumber {
  static constexpr std::string_view name = Comparison::name, doc = Comparison::doc;
  Number value;
  static constexpr std::tuple fields{
      Field{"value", &CompareWithNumber::value, "The number to compare with."}};
  static constexpr std::array inputs{std::string_view("x")};
  static constexpr std::array required{std::string_view("value")};
  static constexpr bool elementwise = true;

  Result<TensorSpec> infer(const TensorSpec& in) const {
    HEADRACE_TRY(check_comparable(in));
    return TensorSpec{DType::boolean, in.shape};
  }
  Status run(View in, MutView out, CallContext&) const {
    visit_dtype(in.dtype, [&]<class T>() {
      compare_with<Comparison>(in.as<T>(), static_cast<size_t>(in.shape.count()), value, out.as<bool>());
    });
    return {};
  }
};

template <class Comparison> struct CompareTwo {
  static constexpr std::string_view name = Comparison::name_of_two, doc = Comparison::doc_of_two;
  static constexpr std::tuple<> fields{};
  static constexpr std::array inputs{std::string_view("x"), std::string_view("y")};
  static constexpr bool elementwise = true;

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    HEADRACE_TRY(check_comparable(in[0]));
    HEADRACE_ASSIGN(const Shape shape, shape_of_two(in[0], in[1]));
    return std::vector<TensorSpec>{{DType::boolean, shape}};
  }
  Status run(std::span<const View> in, std::span<const MutView> out, CallContext&) const {
    const auto count = static_cast<size_t>(out[0].shape.count());
    const size_t x_step = in[0].shape.rank() == 0 ? 0 : 1, y_step = in[1].shape.rank() == 0 ? 0 : 1;
    visit_dtype(in[0].dtype, [&]<class T>() {
      const T *const x = in[0].as<T>(), *const y = in[1].as<T>();
      for (size_t i = 0; i < count; ++i)
        out[0].as<bool>()[i] = Comparison()(Element<T>::load(x[i * x_step]), Element<T>::load(y[i * y_step]));
    });
    return {};
  }
};

Status check_bool(const TensorSpec& in) {
  return in.dtype == DType::boolean ? Status() : invalid({.expected = "bool", .got = in.text()});
}

struct And : std::logical_and<> {
  static constexpr std::string_view name_of_two = "logical_and",
                                    doc_of_two = "Whether both x and y are true.";
};
struct Or : std::logical_or<> {
  static constexpr std::string_view name_of_two = "logical_or",
                                    doc_of_two = "Whether x or y or both are true.";
};

template <class Logic> struct LogicOfTwo : CompareTwo<Logic> {
  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    HEADRACE_TRY(check_bool(in[0]));
    return CompareTwo<Logic>::infer(in);
  }
};

struct LogicalNot {
  static constexpr std::string_view name = "logical_not", doc = "Whether x is false.";
  static constexpr std::tuple<> fields{};
  static constexpr std::array inputs{std::string_view("x")};
  static constexpr bool elementwise = true;

  Result<TensorSpec> infer(const TensorSpec& in) const {
    HEADRACE_TRY(check_bool(in));
    return in;
  }
  Status run(View in, MutView out, CallContext&) const {
    const auto count = static_cast<size_t>(in.shape.count());
    for (size_t i = 0; i < count; ++i) out.as<bool>()[i] = !in.as<bool>()[i];
    return {};
  }
};

const Registered<CompareWithNumber<Less>> less;
const Registered<CompareWithNumber<LessEqual>> less_equal;
const Registered<CompareWithNumber<Greater>> greater;
const Registered<CompareWithNumber<GreaterEqual>> greater_equal;
const Registered<CompareWithNumber<Equal>> equal;
const Registered<CompareWithNumber<NotEqual>> not_equal;
const Registered<CompareTwo<Less>> less_fields;
const Registered<CompareTwo<LessEqual>> less_equal_fields;
const Registered<CompareTwo<Greater>> greater_fields;
const Registered<CompareTwo<GreaterEqual>> greater_equal_fields;
const Registered<CompareTwo<Equal>> equal_fields;
const Registered<CompareTwo<NotEqual>> not_equal_fields;
const Registered<LogicOfTwo<And>> logical_and;
const Registered<LogicOfTwo<Or>> logical_or;
const Registered<LogicalNot> logical_not;

}  // namespace
}  // namespace headrace
