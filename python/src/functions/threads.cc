// Functions in this process: the GIL is taken for each call, or once for many.
#include <optional>

#include "python/src/base/errors.h"
#include "python/src/base/gil.h"
#include "python/src/functions/runner.h"

namespace headrace::python {
namespace {

struct Held final : Answer {
  explicit Held(size_t num_leaves) : results(std::in_place, num_leaves) {}
  ~Held() override {
    const Gil gil;
    in_python([&] { results.reset(); });
  }
  std::optional<Results> results;
};

class InThreads final : public Runner {
 public:
  explicit InThreads(std::shared_ptr<Callee> callee) : callee_(std::move(callee)) {}

  Result<std::unique_ptr<Answer>> call(std::span<const View> in, const std::string& label,
                                       CallContext& call) override {
    const Gil gil;
    auto answer = std::make_unique<Held>(callee_->num_results());
    try {
      callee_->call(in, call, *answer->results);
    } catch (nb::python_error& error) {
      return foreign(error, label);
    } catch (const std::exception& error) {  // a result that does not fit into a tensor
      return invalid(label + ": " + error.what());
    }
    answer->views.reserve(answer->results->size());
    for (size_t i = 0; i < answer->results->size(); ++i) answer->views.push_back(answer->results->view(i));
    return std::unique_ptr<Answer>(std::move(answer));
  }
  std::shared_ptr<const void> hold() const override { return std::make_shared<Gil>(); }

 private:
  std::shared_ptr<Callee> callee_;
};

}  // namespace

std::shared_ptr<Runner> in_threads(std::shared_ptr<Callee> callee) {
  return std::make_shared<InThreads>(std::move(callee));
}

}  // namespace headrace::python
