// Chooses the SIMD target that the kernels run with: for tests, which try each of them, and for benchmarks.
//
// Not for production: the choice is global, and must not change while kernels run in other threads.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace headrace::kernels {

std::vector<std::string>
simd_targets();  // supported by this build and this CPU, best first: "AVX2", "SSE4" ...
void force_simd_target(std::string_view target);  // one of them; an empty name selects the best again
std::string_view simd_target();                   // the one in use

// Call `f(name)` once with each target forced.
template <class F> void on_each_simd_target(F&& f) {
  for (const std::string& target : simd_targets()) {
    force_simd_target(target);
    f(target);
  }
  force_simd_target("");
}

}  // namespace headrace::kernels
