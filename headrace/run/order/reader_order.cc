// Which readers take turns, and when, is made for each epoch on first use, as a list of spans.
#include "headrace/run/order/reader_order.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>

#include "headrace/graph/file_order.h"
#include "headrace/graph/walk_nodes.h"
#include "headrace/run/order/turn_spans.h"

namespace headrace {
namespace {

class ReaderOrder final : public OrderByEpoch {
 public:
  ReaderOrder(std::vector<std::unique_ptr<Order>> children, std::vector<uint64_t> totals,
              const Interleave& verb, NodePtr order)
      : children_(std::move(children)), totals_(std::move(totals)), verb_(verb), order_(std::move(order)) {
    const Shard* shard = find_shard(*order_);
    marks_ = shard && shard->even == Even::pad;
  }
  void locate(std::span<Position> positions) const override {
    std::shared_ptr<const Epoch> in;
    uint64_t epoch = 0;
    for (Position& p : positions) {
      if (!in || p.epoch != epoch) in = of(epoch = p.epoch);
      locate(p, *in);
    }
  }
  uint64_t size_in(uint64_t epoch, bool even) const override {
    const auto in = of(epoch);
    return even ? in->even : in->own;
  }
  Status check(uint64_t epoch) const override { return of(epoch)->status; }

 private:
  struct Epoch {
    std::vector<OpenedReader> openings;
    TurnSpans spans;
    uint64_t own = 0, even = 0;  // elements of this rank's readers; and after evening out ranks
    Status status;               // why ranks cannot be even
  };

  void locate(Position& p, const Epoch& in) const {
    if (p.index >= in.own) {
      p.occurrence += static_cast<uint32_t>(p.index / in.own);
      p.index %= in.own;
      if (marks_) p.valid = false;
    }
    const TurnSpans::Place at = in.spans.at(p.index);
    const OpenedReader& opening = in.openings[at.child];
    p.index = at.index, p.epoch = opening.epoch, p.occurrence += opening.occurrence;
    children_[opening.reader]->locate({&p, 1});
  }

  std::shared_ptr<const Epoch> of(uint64_t epoch) const {
    std::lock_guard lock(mutex_);
    const auto at = std::ranges::find_if(
        epochs_, [&](const auto& known) { return known.first == epoch && known.second; });
    if (at != epochs_.end()) return at->second;
    std::ranges::rotate(epochs_, epochs_.end() - 1);
    epochs_[0] = {epoch, made(epoch)};
    return epochs_[0].second;
  }
  std::shared_ptr<const Epoch> made(uint64_t epoch) const {
    auto out = std::make_shared<Epoch>();
    out->openings = openings_in(*order_, epoch);
    std::vector<uint64_t> totals;
    for (const OpenedReader& one : out->openings) totals.push_back(totals_[one.reader]);
    const Result<Share> share = share_in(*order_, totals_, epoch);
    out->status = share.status();
    out->own = std::accumulate(totals.begin(), totals.end(), uint64_t{0});
    out->even = share.ok() ? share->steps : 0;
    out->spans = TurnSpans(std::move(totals), verb_.cycle, verb_.block);
    return out;
  }

  std::vector<std::unique_ptr<Order>> children_;
  std::vector<uint64_t> totals_;
  Interleave verb_;
  NodePtr order_;
  bool marks_ = false;
  mutable std::mutex mutex_;
  // The last ones made: a shuffle behind a repeat jumps between its passes.
  mutable std::array<std::pair<uint64_t, std::shared_ptr<const Epoch>>, 16> epochs_;
};

}  // namespace

std::unique_ptr<OrderByEpoch> reader_order(std::vector<std::unique_ptr<Order>> children,
                                           std::vector<uint64_t> totals, const Interleave& interleave,
                                           NodePtr order) {
  return std::make_unique<ReaderOrder>(std::move(children), std::move(totals), interleave, std::move(order));
}

}  // namespace headrace
