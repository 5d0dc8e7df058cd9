#include "headrace/ops/native_call.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

// UBSan of clang compares a function's type with that of the call; here they differ by design.
#if defined(__clang__)
#define HEADRACE_CALLS_ANY_TYPE __attribute__((no_sanitize("function")))
#else
#define HEADRACE_CALLS_ANY_TYPE
#endif

namespace headrace {
namespace {

#if (defined(__x86_64__) && !defined(_WIN32)) || defined(__aarch64__)
constexpr bool kKnownConvention = true;
#else
constexpr bool kKnownConvention = false;
#endif

constexpr size_t kChunk = 256;  // elements laid out at a time: their arguments stay in the first-level cache

bool is_float_argument(DType type) { return type == DType::f32 || type == DType::f64; }

// One argument of a chunk of calls, in register form.
using IntegerColumn = std::array<uint64_t, kChunk>;
using FloatColumn = std::array<double, kChunk>;

template <size_t> using Integer = uint64_t;
template <size_t> using Float = double;

using CallChunk = void (*)(CodePointer, const IntegerColumn*, const FloatColumn*, size_t count,
                           void* results);

template <class R, class Integers, class Floats> struct Calls;
template <class R, size_t... I, size_t... F>
struct Calls<R, std::index_sequence<I...>, std::index_sequence<F...>> {
  HEADRACE_CALLS_ANY_TYPE static void run(CodePointer code, [[maybe_unused]] const IntegerColumn* integers,
                                          [[maybe_unused]] const FloatColumn* floats, size_t count,
                                          void* results) {
    const auto function = reinterpret_cast<R (*)(Integer<I>..., Float<F>...)>(code);
    for (size_t i = 0; i < count; ++i)
      static_cast<R*>(results)[i] = function(integers[I][i]..., floats[F][i]...);
  }
};

// Calls functions with the given numbers of integers and floats.
template <class R, size_t Integers = 0, size_t Floats = 0>
CallChunk find_caller(size_t integers, size_t floats) {
  if constexpr (Integers + Floats > kMostArguments) {
    return nullptr;
  } else {
    if (integers > Integers) return find_caller<R, Integers + 1, Floats>(integers, floats);
    if (floats > Floats) return find_caller<R, Integers, Floats + 1>(integers, floats);
    return &Calls<R, std::make_index_sequence<Integers>, std::make_index_sequence<Floats>>::run;
  }
}

// Converts `count` elements of a dtype to register form, from element `begin` on.
void lay_out(const View& from, size_t begin, size_t count, IntegerColumn& to) {
  const size_t step = from.shape.rank() == 0 ? 0 : 1;
  visit_dtype(from.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {  // a user's array may hold bytes that are neither 0 nor 1
      const auto* x = from.as<uint8_t>() + step * begin;
      for (size_t i = 0; i < count; ++i) to[i] = x[i * step] != 0;
    } else if constexpr (std::is_integral_v<T>) {
      const T* x = from.as<T>() + step * begin;
      for (size_t i = 0; i < count; ++i) to[i] = static_cast<uint64_t>(x[i * step]);
    }
  });
}

void lay_out(const View& from, size_t begin, size_t count, FloatColumn& to) {
  const size_t step = from.shape.rank() == 0 ? 0 : 1;
  if (from.dtype == DType::f64) {
    const double* x = from.as<double>() + step * begin;
    for (size_t i = 0; i < count; ++i) to[i] = x[i * step];
  } else {
    const auto* x = from.as<uint32_t>() + step * begin;
    for (size_t i = 0; i < count; ++i) to[i] = std::bit_cast<double>(uint64_t{x[i * step]});
  }
}

// Converts results in register form to elements of the output: bits above an element's size are undefined.
void take(const IntegerColumn& from, size_t begin, size_t count, const MutView& to) {
  visit_dtype(to.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) {
      for (size_t i = 0; i < count; ++i) to.as<uint8_t>()[begin + i] = (from[i] & 0xff) != 0;
    } else if constexpr (std::is_integral_v<T>) {
      for (size_t i = 0; i < count; ++i) to.as<T>()[begin + i] = static_cast<T>(from[i]);
    }
  });
}

void take(const FloatColumn& from, size_t begin, size_t count, const MutView& to) {
  if (to.dtype == DType::f64) {
    std::memcpy(to.as<double>() + begin, from.data(), count * sizeof(double));
    return;
  }
  for (size_t i = 0; i < count; ++i)
    to.as<uint32_t>()[begin + i] = static_cast<uint32_t>(std::bit_cast<uint64_t>(from[i]));
}

template <class Column>
void call_all(CodePointer code, CallChunk call, std::span<const View> in, const MutView& out) {
  std::array<IntegerColumn, kMostArguments> integers;
  std::array<FloatColumn, kMostArguments> floats;
  Column results;
  const auto total = static_cast<size_t>(out.shape.count());
  for (size_t begin = 0; begin < total; begin += kChunk) {
    const size_t count = std::min(kChunk, total - begin);
    size_t next_integer = 0, next_float = 0;
    for (const View& view : in) {
      if (is_float_argument(view.dtype))
        lay_out(view, begin, count, floats[next_float++]);
      else
        lay_out(view, begin, count, integers[next_integer++]);
    }
    call(code, integers.data(), floats.data(), count, results.data());
    take(results, begin, count, out);
  }
}

}  // namespace

std::string NativeSignature::text() const {
  std::string list;
  for (const DType type : arguments) list += (list.empty() ? "" : ", ") + std::string(dtype_name(type));
  return std::string(dtype_name(result)) + "(" + list + ")";
}

Status check_native(const NativeSignature& signature) {
  if (!kKnownConvention)
    return {Code::unavailable, "C functions of scalars can be called on x86-64 and AArch64 only"};
  const auto& arguments = signature.arguments;
  if (arguments.empty() || arguments.size() > kMostArguments)
    return invalid(
        {.expected = "1 to " + std::to_string(kMostArguments) + " arguments", .got = signature.text()});
  const auto is_number = [](DType type) {
    return !is_text(type) && type != DType::f16 && type != DType::bf16;
  };
  if (!std::ranges::all_of(arguments, is_number) || !is_number(signature.result))
    return invalid({.expected = "bool, integers, float32 or float64", .got = signature.text()});
  return {};
}

void call_each(CodePointer code, const NativeSignature& signature, std::span<const View> in,
               const MutView& out) {
  const auto floats = static_cast<size_t>(std::ranges::count_if(signature.arguments, is_float_argument));
  const size_t integers = signature.arguments.size() - floats;
  if (is_float_argument(signature.result))
    call_all<FloatColumn>(code, find_caller<double>(integers, floats), in, out);
  else
    call_all<IntegerColumn>(code, find_caller<uint64_t>(integers, floats), in, out);
}

}  // namespace headrace
