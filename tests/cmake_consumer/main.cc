// What must hold for a program that only knows the installed headers and library: it compiles, links, a
// pipeline runs, and the operators that register themselves are there.
#include <cstdio>
#include <string>

#include "headrace/headrace.h"
#include "headrace/ops/op.h"  // of the headers for plug-ins

int main() {
  const auto numbers = headrace::range(1000).shuffle({.seed = 17}).batch(100);
  auto loader = numbers.loader();
  if (!loader.ok()) {
    std::fprintf(stderr, "%s\n", std::string(loader.status().text()).c_str());
    return 1;
  }
  int batches = 0;
  for (headrace::Sample batch; *(*loader)->next(batch);) batches += batch.fields[0].shape[0] == 100;
  if (headrace::report_text((*loader)->report()).empty()) return 1;
  const auto flip = headrace::make_op("random_flip", headrace::Value());
  const auto own = headrace::make_op("solarize", headrace::Value());
  if (batches != 10 || !flip.ok() || !own.ok()) {
    std::fprintf(stderr, "%d batches, %s, %s\n", batches, std::string(flip.status().text()).c_str(),
                 std::string(own.status().text()).c_str());
    return 1;
  }
  std::printf("find_package(headrace): %d batches, %zu operators, one of them %s\n", batches,
              headrace::ops().size(), std::string((*flip)->name()).c_str());
  return 0;
}
