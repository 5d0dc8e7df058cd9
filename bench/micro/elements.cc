// Small elements through the whole engine, without Python: range -> x + 1 -> batch. Benchmark items are
// elements.
#include <benchmark/benchmark.h>

#include "headrace/formats/arrays/arrays.h"
#include "headrace/headrace.h"

namespace headrace {
namespace {

void plus_one_in_batches(benchmark::State& state) {
  const auto size = static_cast<uint64_t>(state.range(0));
  const Dataset data =
      from_source(*range_source(0, int64_t{1} << 40))
          .map([](const Fields& s) -> Outputs { return {{"x", s["value"].apply("add", {{"value", 1}})}}; })
          .batch(size);
  LoaderOptions options;
  options.workers = 1;
  auto loader = data.loader(options);
  Sample batch;
  for (auto _ : state)
    if (!loader.ok() || !(*loader)->next(batch).ok()) return state.SkipWithError("no batch");
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * size));
}
BENCHMARK(plus_one_in_batches)
    ->RangeMultiplier(4)
    ->Range(256, 1 << 16)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace headrace
