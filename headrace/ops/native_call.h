// Calls of C functions of numbers, R f(A, B, …), whose signature is known only when the program runs.
//
// No call of C++ says that, so this one is made as the calling conventions of x86-64 (System V) and AArch64
// have it: there, integers and floats are counted apart and each have registers of their own. f(double, int)
// called as f(int, double) is one call; a float lies in the low half of the register of a double. See
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
  std::string text() const;  // "f64(f64, i64)"
};

inline constexpr size_t kMostArguments = 6;  // integers of System V that travel in registers

// Whether call_each() can call such functions here.
Status check_native(const NativeSignature& signature);

// out[i] = code(in[0][i], in[1][i], …) for each element of `out`; inputs of rank 0 are repeated.
// REQUIRES: check_native(signature), views of its dtypes, those of rank over 0 with as many elements as
// `out`.
void call_each(CodePointer code, const NativeSignature& signature, std::span<const View> in,
               const MutView& out);

}  // namespace headrace
