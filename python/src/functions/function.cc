#include "python/src/functions/function.h"

#include <cstring>
#include <optional>
#include <utility>

#include "python/src/base/errors.h"
#include "python/src/base/text.h"

namespace headrace::python {
namespace {

class FunctionOp final : public AnyOp {
 public:
  FunctionOp(FunctionInfo info, std::shared_ptr<Runner> runner)
      : info_(std::move(info)), runner_(std::move(runner)) {}

  std::string_view name() const override { return kFunctionOp; }
  std::span<const std::string> bound() const override { return {}; }
  Phase phase() const override { return Phase::python; }
  bool random() const override { return true; }  // operators called within may draw
  Value params() const override {
    Value out{Value::Object()};
    out.set("slot", info_.slot);
    out.set("input", info_.input);
    out.set("output", info_.output);
    Value::List outputs;
    for (const TensorSpec& spec : info_.outputs) {
      Value::List dims;
      for (const int64_t dim : spec.shape.dims()) dims.push_back(dim == kAny ? Value() : Value(dim));
      outputs.push_back(Value::List{short_name(spec.dtype), std::move(dims)});
    }
    out.set("outputs", std::move(outputs));
    out.set("random", info_.random);
    if (info_.pure) out.set("pure", true);
    if (info_.processes) out.set("python", "processes");
    if (info_.num_parallel > 0) out.set("num_parallel", int64_t{info_.num_parallel});
    return out;
  }
  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec>) const override { return info_.outputs; }

  std::shared_ptr<const void> hold() const override { return runner_->hold(); }

  Status measure(std::span<const View> in, std::span<Shape> out, CallContext& call) const override {
    HEADRACE_ASSIGN(std::unique_ptr<Answer> answer, answer_of(in, call));
    for (size_t i = 0; i < out.size(); ++i) out[i] = answer->views[i].shape;
    call.leave(std::move(answer));
    return {};
  }

  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const override {
    std::optional<std::unique_ptr<Answer>> left = call.take<std::unique_ptr<Answer>>();
    if (!left) {
      HEADRACE_ASSIGN(left, answer_of(in, call));
    }
    const std::vector<View>& views = (*left)->views;
    for (size_t i = 0; i < out.size(); ++i) {
      const View& from = views[i];
      if (!(from.shape == out[i].shape)) return mismatch(i, from.spec());
      if (from.size_bytes() > 0) std::memcpy(out[i].data, from.data, from.size_bytes());
    }
    return {};
  }

 private:
  Status mismatch(size_t i, const TensorSpec& got) const {
    return invalid(info_.label + ": output " + std::to_string(i) + " was " + info_.outputs[i].text() +
                   " when the pipeline was built, got " + got.text() + " now");
  }

  // The function's results, checked against what it returned when the graph was built.
  Result<std::unique_ptr<Answer>> answer_of(std::span<const View> in, CallContext& call) const {
    HEADRACE_ASSIGN(std::unique_ptr<Answer> answer, runner_->call(in, info_.label, call));
    const std::vector<View>& views = answer->views;
    if (views.size() != info_.outputs.size())
      return invalid({.expected = std::to_string(info_.outputs.size()) + " results",
                      .got = std::to_string(views.size())})
          .before(info_.label + ": ");
    for (size_t i = 0; i < views.size(); ++i)
      if (!info_.outputs[i].admits(views[i].spec())) return mismatch(i, views[i].spec());
    return answer;
  }

  FunctionInfo info_;
  std::shared_ptr<Runner> runner_;
};

}  // namespace

OpPtr function_op(FunctionInfo info, std::shared_ptr<Runner> runner) {
  return std::make_shared<FunctionOp>(std::move(info), std::move(runner));
}

uint32_t num_parallel_from(int64_t calls) {
  constexpr int64_t kMost = 65536;
  if (calls < 0 || calls > kMost)
    check(invalid("num_parallel must be 1 to " + std::to_string(kMost) + ", got " + std::to_string(calls)));
  return static_cast<uint32_t>(calls);
}

}  // namespace headrace::python
