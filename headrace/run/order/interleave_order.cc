// Interleave as arithmetic, in the same order in every epoch.
#include "headrace/run/order/order.h"
#include "headrace/run/order/turn_spans.h"

namespace headrace {
namespace {

class InterleaveOrder final : public Order {
 public:
  InterleaveOrder(std::vector<std::unique_ptr<Order>> children, std::vector<uint64_t> totals, uint64_t cycle,
                  uint64_t block)
      : children_(std::move(children)), spans_(std::move(totals), cycle, block) {}

  void locate(std::span<Position> positions) const override {
    for (Position& p : positions) {
      const TurnSpans::Place at = spans_.at(p.index);
      p.index = at.index;
      children_[at.child]->locate({&p, 1});
    }
  }

 private:
  std::vector<std::unique_ptr<Order>> children_;
  TurnSpans spans_;
};

}  // namespace

std::unique_ptr<Order> Order::interleave(std::vector<std::unique_ptr<Order>> children,
                                         std::vector<uint64_t> totals, uint64_t cycle, uint64_t block) {
  return std::make_unique<InterleaveOrder>(std::move(children), std::move(totals), cycle, block);
}

}  // namespace headrace
