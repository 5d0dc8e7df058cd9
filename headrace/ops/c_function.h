// A C function as an operator of a graph: a function of scalars, applied to every element of its fields, or a
// headrace_function (core/c_function.h), which gets whole arrays.
//
// A saved plan names it by its slot and holds no address: the caller that opens the plan passes the function
// again (Bindings::function in graph/plan/plan_json.h).
#pragma once
#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "headrace/core/c_function.h"
#include "headrace/core/value.h"
#include "headrace/ops/native_call.h"

namespace headrace {

class AnyOp;
using OpPtr = std::shared_ptr<const AnyOp>;

inline constexpr std::string_view kCFunctionOp = "c_function";

// A dimension of a field: a size; a name, which stands for one size in all fields of a call; or kAny.
struct Dim {
  Dim(std::integral auto fixed) : size(static_cast<int64_t>(fixed)) {}
  Dim(std::string of) : name(std::move(of)) {}
  Dim(const char* of) : name(of) {}
  bool operator==(const Dim&) const = default;
  int64_t size = kAny;
  std::string name;
};

struct FieldLayout {
  DType dtype = DType::u8;
  std::vector<Dim> shape;
  bool operator==(const FieldLayout&) const = default;
  std::string text() const;  // "float32 (n, 3)"
};

struct CFunction {
  std::string name;     // for reports and messages
  std::string slot;     // in saved plans; the name when empty
  std::string version;  // identifies it in caches on disk; "": they need one
  CodePointer code = nullptr;
  bool by_element = false;  // a function of scalars; layouts are then dtypes only, with one output
  std::vector<FieldLayout> inputs, outputs;
  bool random = false;  // it takes a key
  void* user = nullptr;
  std::shared_ptr<const void> owner = nullptr;  // keeps alive what code and user point to
};

namespace c_function_detail {
template <class T> constexpr DType dtype_of() {
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "expected bool, integers, float or double");
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? DType::f32 : DType::f64;
  constexpr DType sized[2][4] = {{DType::u8, DType::u16, DType::u32, DType::u64},
                                 {DType::i8, DType::i16, DType::i32, DType::i64}};
  return sized[std::is_signed_v<T>][sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3];
}
}  // namespace c_function_detail

// A function of scalars, such as std::cos, applied to every element.
template <class R, class... A> CFunction c_function(std::string name, R (*function)(A...)) {
  using c_function_detail::dtype_of;
  CFunction out;
  out.name = std::move(name), out.code = reinterpret_cast<CodePointer>(function), out.by_element = true;
  out.inputs = {FieldLayout{dtype_of<A>(), {}}...};
  out.outputs = {FieldLayout{dtype_of<R>(), {}}};
  return out;
}
// A function of whole arrays. Dimensions of outputs are sizes, or names of input dimensions.
CFunction c_function(std::string name, headrace_function function, std::vector<FieldLayout> inputs,
                     std::vector<FieldLayout> outputs);

Result<OpPtr> c_function_op(CFunction function);
// The function that such an operator calls; null for other operators.
const CFunction* c_function_of(const AnyOp& op);
// Whether a plan whose C function has `params` means one like `op`.
Status check_c_function(const AnyOp& op, const Value& params);

}  // namespace headrace
