// Calls C functions of scalars, R f(A, B, …), whose signature is known only at run time.
//
// C++ has no such call, so this one follows the calling conventions of x86-64 (System V) and AArch64:
// integers and floats are counted separately and each have registers of their own. f(double, int) called as
// f(int, double) is one call; a float is in the low half of the register of a double. See
// docs/decisions/0016.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "headrace/core/tensor.h"

namespace headrace {

using CodePointer = void (*)();  // of any signature

struct NativeSignature {
  std::vector<DType> arguments;
  DType result = DType::f64;
  bool operator==(const NativeSignature&) const = default;
  std::string text() const;  // "float64(float64, int64)"
};

inline constexpr size_t kMostArguments = 6;  // integers that System V passes in registers

// Whether call_each() supports this signature on this machine.
Status check_native(const NativeSignature& signature);

// out[i] = code(in[0][i], in[1][i], …) for each element of `out`; inputs of rank 0 are repeated.
// REQUIRES: check_native(signature), views of its dtypes, those of rank over 0 with as many elements as
// `out`.
void call_each(CodePointer code, const NativeSignature& signature, std::span<const View> in,
               const MutView& out);

}  // namespace headrace
