// Limits the number of concurrent calls of a function, wherever it runs.
#include <semaphore>
#include <utility>

#include "python/src/functions/runner.h"

namespace headrace::python {
namespace {

class Bounded final : public Runner {
 public:
  Bounded(std::shared_ptr<Runner> runner, uint32_t calls) : runner_(std::move(runner)), free_(calls) {}

  // No hold(): a call that waits for others must not keep the GIL from them.
  Result<std::unique_ptr<Answer>> call(std::span<const View> in, const std::string& label,
                                       CallContext& call) override {
    struct Place {
      explicit Place(std::counting_semaphore<>& of) : free(of) { free.acquire(); }
      ~Place() { free.release(); }
      Place(const Place&) = delete;
      Place& operator=(const Place&) = delete;
      std::counting_semaphore<>& free;
    } const place(free_);
    return runner_->call(in, label, call);
  }

 private:
  std::shared_ptr<Runner> runner_;
  std::counting_semaphore<> free_;
};

}  // namespace

std::shared_ptr<Runner> bounded(std::shared_ptr<Runner> runner, uint32_t calls) {
  return std::make_shared<Bounded>(std::move(runner), calls);
}

}  // namespace headrace::python
