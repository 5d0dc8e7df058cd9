// ds[i]: one element at a time, in the caller's thread.
#include "headrace/io/retrying_store.h"
#include "headrace/run/engine/executor.h"
#include "headrace/run/loader.h"
#include "headrace/run/lower/pipeline.h"
#include "headrace/run/measure/machine.h"
#include "headrace/run/row_paths/level_body.h"

namespace headrace {
namespace {

class ElementsImpl final : public Elements {
 public:
  ElementsImpl(Pipeline pipeline, std::shared_ptr<Pool> pool, uint64_t seed)
      : pipeline_(std::move(pipeline)), pool_(std::move(pool)), seed_(seed) {}
  Status prepare() {
    Counters counters(pipeline_.operators.size());
    return pipeline_.level->prepare(counters);
  }
  Result<Sample> at(uint64_t position, uint64_t epoch) override {
    std::shared_ptr<const AskedOrders::Epoch> asked;  // holds what the epoch was asked for
    if (pipeline_.orders) {
      HEADRACE_ASSIGN(asked, pipeline_.orders->ask(epoch));
    }
    Counters counters(pipeline_.operators.size());
    Evaluator evaluator(pool_.get(), &counters, seed_, true);
    HEADRACE_ASSIGN(Sample sample,
                    pipeline_.level->element(pipeline_.level->level(), position, epoch, 0, evaluator));
    hand_over(sample, *pool_);
    return sample;
  }

 private:
  Pipeline pipeline_;
  std::shared_ptr<Pool> pool_;
  uint64_t seed_;
};

}  // namespace

Result<std::unique_ptr<Elements>> Elements::make(NodePtr plan, uint64_t seed, size_t memory_budget,
                                                 std::shared_ptr<Store> store) {
  if (!plan->indexed)
    return invalid(
        "this dataset has no random access: it contains a filter, unbatch, window shuffle, "
        "on_error(\"skip\"), or a shard of shuffled files before interleave");
  auto pool = Pool::make(memory_budget == 0 ? default_memory_budget() : memory_budget);
  auto fetcher = std::make_shared<Fetcher>(with_retries(std::move(store), std::make_shared<Retries>()), pool);
  HEADRACE_ASSIGN(Pipeline pipeline, lower(plan, std::move(fetcher), {.seed = seed}));
  if (!pipeline.level) return invalid("a dataset with steps= has no random access").in_op("shard");
  auto out = std::make_unique<ElementsImpl>(std::move(pipeline), std::move(pool), seed);
  HEADRACE_TRY(out->prepare());
  return std::unique_ptr<Elements>(std::move(out));
}

}  // namespace headrace
