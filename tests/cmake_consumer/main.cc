// What must hold for a program that only knows the installed headers and library: it compiles, links, and the
// operators that register themselves are there.
#include <cstdio>
#include <string>

#include "headrace/core/random/permutation.h"
#include "headrace/ops/op.h"

int main() {
  const headrace::Permutation order(17, 0, 1000);
  if (order(999) >= 1000) return 1;
  const auto flip = headrace::make_op("random_flip", headrace::Value());
  if (!flip.ok()) {
    std::fprintf(stderr, "%s\n", std::string(flip.status().text()).c_str());
    return 1;
  }
  std::printf("find_package(headrace): %zu operators, one of them %s\n", headrace::ops().size(),
              std::string((*flip)->name()).c_str());
  return 0;
}
