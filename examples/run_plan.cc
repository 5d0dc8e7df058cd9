// Run a pipeline that was saved by `save_plan` in Python or Dataset::plan in C++.
//   build/examples/run_plan train.json
#include <cstdio>
#include <fstream>
#include <iterator>

#include "headrace/headrace.h"

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: run_plan PLAN.json\n"), 2;
  std::ifstream file(argv[1]);
  const std::string json(std::istreambuf_iterator<char>(file), {});
  const auto plan = headrace::load_plan(json);
  if (!plan.ok()) return std::fprintf(stderr, "%s\n", plan.status().text().data()), 1;
  const auto loader = plan->dataset.loader({.seed = plan->seed});
  if (!loader.ok()) return std::fprintf(stderr, "%s\n", loader.status().text().data()), 1;

  headrace::Sample batch;
  auto more = (*loader)->next(batch);
  for (; more.ok() && *more; more = (*loader)->next(batch)) {
    for (const headrace::Tensor& field : batch.fields) std::printf("%s  ", field.view().spec().text().data());
    std::printf("\n");
  }
  if (!more.ok()) return std::fprintf(stderr, "%s\n", more.status().text().data()), 1;
}
