// Any JSON as {"plan": …, "state": …}: a plan that can be read can be written and reads back equal; a small
// one runs a little from the state, or gives an error. The state's fingerprint is corrected, so that the code
// after its check is reached.
#include <cstdlib>

#include "headrace/graph/plan/plan_json.h"
#include "headrace/io/testing/memory_store.h"
#include "headrace/run/loader.h"

using namespace headrace;

namespace {

constexpr uint64_t kSmall = 10'000;  // elements; more may legitimately exceed the fuzzer's timeout

// Whether running a few elements is cheap: no read, pass or window is large.
bool is_small(const Node& node) {
  if (const auto* read = std::get_if<Read>(&node.kind); read && read->source->size() > kSmall) return false;
  if (const auto* repeat = std::get_if<Repeat>(&node.kind); repeat && repeat->times - 1 > 3) return false;
  if (const auto* shuffle = std::get_if<Shuffle>(&node.kind); shuffle && shuffle->window > kSmall)
    return false;
  for (const NodePtr& input : node.inputs)
    if (!is_small(*input)) return false;
  return true;
}

void run_a_little(const NodePtr& plan, Value state, const std::shared_ptr<Store>& store) {
  LoaderOptions options;
  options.virtual_seed = 1, options.workers = 2, options.io = 1, options.memory_budget = size_t{1} << 20;
  auto loader = Loader::make(plan, std::move(options), store);
  if (!loader.ok()) return;
  if (state.object()) {
    state.set("version", 1), state.set("fingerprint", (*loader)->fingerprint());
    if (!(*loader)->load(state).ok()) return;
  }
  Sample sample;
  for (int i = 0; i < 4; ++i) {
    const auto more = (*loader)->next(sample);
    if (!more.ok() || !*more) break;
    if (!(*loader)->save().ok()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto value = Value::parse({reinterpret_cast<const char*>(data), size});
  if (!value.ok() || !value->find("plan")) return 0;
  const auto store = std::make_shared<MemoryStore>();
  const auto plan = plan_from_value(*value->find("plan"), *store, {});
  if (!plan.ok()) return 0;
  const Value written = plan_to_value(*plan);
  const auto again = plan_from_value(written, *store, {});
  if (!again.ok() || !(plan_to_value(*again) == written)) std::abort();
  const Value* state = value->find("state");
  if (is_small(**plan)) run_a_little(*plan, state ? *state : Value(), store);
  return 0;
}
