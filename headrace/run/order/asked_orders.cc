#include "headrace/run/order/asked_orders.h"

#include <algorithm>
#include <cstdlib>

#include "headrace/graph/verbs/inference.h"
#include "headrace/graph/verbs/select.h"
#include "headrace/graph/walk_nodes.h"

namespace headrace {
namespace {

constexpr size_t kEpochsKept = 2;                // an iteration that ends, and the next one
constexpr uint64_t kMostPositions = 1ull << 31;  // of an epoch: 16 GiB

class AskedOrder final : public Order {
 public:
  AskedOrder(std::unique_ptr<Order> child, EpochOrderPtr order, std::shared_ptr<const AskedOrders> asked)
      : child_(std::move(child)), order_(std::move(order)), asked_(std::move(asked)) {}
  void locate(std::span<Position> positions) const override {
    const AskedOrders::Positions* now = nullptr;
    uint64_t pass = 0;
    for (Position& p : positions) {  // neighbors are mostly in the same pass
      if (!now || p.epoch != pass) now = &asked_->positions(order_.get(), pass = p.epoch);
      if (now->occurrences) p.occurrence += (*now->occurrences)[p.index];
      p.index = now->at[p.index];
    }
    child_->locate(positions);
  }

 private:
  std::unique_ptr<Order> child_;
  EpochOrderPtr order_;
  std::shared_ptr<const AskedOrders> asked_;
};

// How often an order of files begins in an epoch; kInfinite: not as often for each file.
uint64_t passes_of_files(const Node& order) {
  uint64_t out = 1;
  for (const Node* node = &order; !node->inputs.empty(); node = node->input().get()) {
    const auto repeats = [](const Node& one) { return one.as<Repeat>() != nullptr; };
    if (node->as<Concatenate>() && find_node(*node, repeats)) return kInfinite;
    if (const auto* repeat = node->as<Repeat>()) out = multiply_sizes(out, repeat->times);
  }
  return out;
}

std::string digest_of(const AskedOrders::Epoch& epoch) {
  std::string bytes;
  for (const AskedOrders::Epoch::Pass& pass : epoch.passes) {
    const auto& at = pass.positions.at;
    bytes += hash_text({reinterpret_cast<const char*>(at.data()), at.size() * sizeof(at[0])});
  }
  return hash_text(bytes).substr(0, 16);
}

}  // namespace

Result<std::shared_ptr<AskedOrders>> AskedOrders::of(const Node& root) {
  auto out = std::make_shared<AskedOrders>();
  HEADRACE_TRY(collect(root, 1, out->orders_));
  if (out->orders_.empty()) out = nullptr;
  return out;
}

// `passes`: how often the node begins in an epoch; kInfinite: that is not known.
Status AskedOrders::collect(const Node& node, uint64_t passes, std::vector<Asked>& out) {
  if (const auto* reorder = node.as<Reorder>()) {
    if (multiply_sizes(passes, reorder->order->size()) > kMostPositions)
      return invalid(
                 {.expected = "a function or sampler that is asked a known number of times in an epoch",
                  .got = "a repeat() without count, a mix with stop=\"cycle\", or too many passes above it",
                  .fix = "iterate over the loader once for each epoch instead, or use repeat(count)"})
          .in_op("reorder")
          .at_place(node.made_at);
    out.push_back({reorder->order, *node.input()->total, passes, node.made_at});
  }
  if (const auto* repeat = node.as<Repeat>())
    passes = repeat->times == 0 ? kInfinite : multiply_sizes(passes, repeat->times);
  const auto* mix = node.as<Mix>();
  const auto* choose = node.as<Choose>();
  if ((mix && mix->stop == MixStop::cycle) || (choose && choose->stop == MixStop::cycle)) passes = kInfinite;
  const auto* interleave = node.as<Interleave>();
  const uint64_t of_readers = interleave && interleave->ordered
                                  ? multiply_sizes(passes, passes_of_files(*node.inputs.back()))
                                  : passes;
  for (const NodePtr& input : node.inputs) {
    const bool is_order = interleave && interleave->ordered && input == node.inputs.back();
    HEADRACE_TRY(collect(*input, is_order ? passes : of_readers, out));
  }
  return {};
}

Result<AskedOrders::Positions> AskedOrders::ask_pass(const Asked& asked, uint64_t pass) {
  const auto wrong = [&](Mismatch found) {
    return invalid(std::move(found)).in_op("reorder").at_place(asked.line);
  };
  auto given = asked.order->positions(pass);
  if (!given.ok()) return given.status().in_op("reorder").at_place(asked.line);
  const std::string of_epoch = " for epoch " + std::to_string(pass);
  if (given->size() != asked.order->size())
    return wrong({.expected = std::to_string(asked.order->size()) + " positions" + of_epoch,
                  .got = std::to_string(given->size()),
                  .fix = "length= is the number of positions of every epoch"});
  const auto out = std::ranges::find_if(
      *given, [&](int64_t at) { return at < 0 || static_cast<uint64_t>(at) >= asked.below; });
  if (out != given->end())
    return wrong(
        {.expected = "positions from 0 to below " + std::to_string(asked.below) + ", the number of elements",
         .got = std::to_string(*out) + " at position " + std::to_string(out - given->begin()) + of_epoch});
  Positions made{{given->begin(), given->end()}, nullptr};
  made.occurrences = occurrences_of(made.at);
  return made;
}

Result<std::shared_ptr<AskedOrders::Epoch>> AskedOrders::ask_all(uint64_t epoch) const {
  auto made = std::make_shared<Epoch>();
  made->epoch = epoch;
  for (const Asked& asked : orders_)
    for (uint64_t i = 0; i < asked.passes; ++i) {
      const uint64_t pass = epoch_of_pass(epoch, asked.passes, i);
      const auto is_it = [&](const Epoch::Pass& p) { return p.order == asked.order.get() && p.pass == pass; };
      if (std::ranges::any_of(made->passes, is_it)) continue;
      HEADRACE_ASSIGN(Positions positions, ask_pass(asked, pass));
      made->passes.push_back({asked.order.get(), pass, std::move(positions)});
    }
  made->digest = digest_of(*made);
  return made;
}

Result<std::shared_ptr<const AskedOrders::Epoch>> AskedOrders::ask(uint64_t epoch) {
  if (asker_ == std::this_thread::get_id())
    return invalid(
               "the function or sampler uses an iteration or elements of its own dataset, which wait for it")
        .in_op("reorder")
        .at_place(orders_[0].line);
  const std::lock_guard one_at_a_time(asking_);
  const auto find = [&]() -> std::shared_ptr<const Epoch> {
    const std::lock_guard lock(mutex_);
    const auto it = std::ranges::find(epochs_, epoch, [](const auto& known) { return known->epoch; });
    return it == epochs_.end() ? nullptr : *it;
  };
  if (auto known = find()) return known;
  asker_ = std::this_thread::get_id();
  auto answered = ask_all(epoch);
  // Each rank asks for itself: an answer by chance would lose and repeat elements.
  auto again = answered.ok() && digests_.empty() ? ask_all(epoch) : answered;
  asker_ = std::thread::id();
  if (!again.ok()) return again.status();
  const std::shared_ptr<const Epoch> made = *std::move(answered);
  const auto others = [&] {
    return invalid({.expected = "the positions of epoch " + std::to_string(epoch) + ", as before",
                    .got = "others",
                    .fix = "they must depend on the epoch alone: draw them from "
                           "numpy.random.default_rng(epoch), or give the sampler a set_epoch()"})
        .in_op("reorder")
        .at_place(orders_[0].line);
  };
  if ((*again)->digest != made->digest) return others();
  const std::lock_guard lock(mutex_);
  const auto before = std::ranges::find(digests_, epoch, &std::pair<uint64_t, std::string>::first);
  if (before == digests_.end())
    digests_.emplace_back(epoch, made->digest);
  else if (before->second != made->digest)
    return others();
  epochs_.push_back(made);
  for (auto it = epochs_.begin(); epochs_.size() > kEpochsKept && it != epochs_.end() - 1;)
    it = it->use_count() == 1 ? epochs_.erase(it) : it + 1;
  return made;
}

const AskedOrders::Positions& AskedOrders::positions(const EpochOrder* order, uint64_t pass) const {
  const std::lock_guard lock(mutex_);
  for (const auto& epoch : epochs_)
    for (const Epoch::Pass& known : epoch->passes)
      if (known.order == order && known.pass == pass) return known.positions;
  std::abort();  // a bug: ask() was not called for this epoch, or its result is no longer held
}

std::unique_ptr<Order> asked_order(std::unique_ptr<Order> child, EpochOrderPtr order,
                                   std::shared_ptr<const AskedOrders> asked) {
  return std::make_unique<AskedOrder>(std::move(child), std::move(order), std::move(asked));
}

}  // namespace headrace
