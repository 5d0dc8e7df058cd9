#include "headrace/run/order/order.h"

#include <algorithm>
#include <array>

namespace headrace {
namespace {

class Leaf final : public Order {
 public:
  explicit Leaf(uint32_t ordinal) : ordinal_(ordinal) {}
  void locate(std::span<Position> positions) const override {
    for (Position& p : positions) p.leaf = ordinal_;
  }

 private:
  uint32_t ordinal_;
};

class ShuffleOrder final : public Order {
 public:
  ShuffleOrder(std::unique_ptr<Order> child, const Shuffle& shuffle, uint64_t total)
      : child_(std::move(child)), shuffle_(shuffle), total_(total) {}
  void locate(std::span<Position> positions) const override {
    for (size_t i = 0; i < positions.size();) {  // runs of one epoch share a permutation
      size_t end = i + 1;
      while (end < positions.size() && positions[end].epoch == positions[i].epoch) ++end;
      const Permutation permute(shuffle_.seed, shuffle_.epoch_of_order(positions[i].epoch), total_);
      permute_indices(permute, 0, positions.subspan(i, end - i));
      i = end;
    }
    child_->locate(positions);
  }

 private:
  std::unique_ptr<Order> child_;
  Shuffle shuffle_;
  uint64_t total_;
};

class RepeatOrder final : public Order {
 public:
  RepeatOrder(std::unique_ptr<Order> child, uint64_t times, uint64_t child_total)
      : child_(std::move(child)), times_(times), total_(child_total) {}
  void locate(std::span<Position> positions) const override {
    uint64_t pass = 0;
    for (Position& p : positions) {
      if (p.index - pass * total_ >= total_)
        pass = p.index / total_;  // neighbors are mostly in the same pass
      p.index -= pass * total_;
      p.epoch = epoch_of_pass(p.epoch, times_, pass);
    }
    child_->locate(positions);
  }

 private:
  std::unique_ptr<Order> child_;
  uint64_t times_, total_;
};

class SkipOrder final : public Order {
 public:
  SkipOrder(std::unique_ptr<Order> child, uint64_t count) : child_(std::move(child)), count_(count) {}
  void locate(std::span<Position> positions) const override {
    for (Position& p : positions) p.index += count_;
    child_->locate(positions);
  }

 private:
  std::unique_ptr<Order> child_;
  uint64_t count_;
};

class MarkOrder final : public Order {
 public:
  MarkOrder(std::unique_ptr<Order> child, uint32_t ordinal) : child_(std::move(child)), ordinal_(ordinal) {}
  void locate(std::span<Position> positions) const override {
    for (Position& p : positions)
      if (p.mark && p.mark->ordinal == ordinal_) p.mark->index = p.index, p.mark->epoch = p.epoch;
    child_->locate(positions);
  }

 private:
  std::unique_ptr<Order> child_;
  uint32_t ordinal_;
};

class ConcatenateOrder final : public Order {
 public:
  ConcatenateOrder(std::vector<std::unique_ptr<Order>> children, std::vector<uint64_t> totals)
      : children_(std::move(children)) {
    uint64_t end = 0;
    for (uint64_t t : totals) ends_.push_back(end = t == kInfinite ? kInfinite : end + t);
  }
  void locate(std::span<Position> positions) const override {
    for (size_t i = 0; i < positions.size();) {  // runs of one branch are located together
      const size_t branch = branch_of(positions[i].index);
      const uint64_t first = branch == 0 ? 0 : ends_[branch - 1];
      size_t end = i;
      while (end < positions.size() && branch_of(positions[end].index) == branch)
        positions[end++].index -= first;
      children_[branch]->locate(positions.subspan(i, end - i));
      i = end;
    }
  }

 private:
  size_t branch_of(uint64_t index) const {
    return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end() - 1, index) - ends_.begin());
  }
  std::vector<std::unique_ptr<Order>> children_;
  std::vector<uint64_t> ends_;
};

}  // namespace

void permute_indices(const Permutation& permute, uint64_t first, std::span<Position> positions) {
  std::array<uint64_t, 256> some;
  for (size_t i = 0; i < positions.size();) {
    const size_t n = std::min(some.size(), positions.size() - i);
    for (size_t k = 0; k < n; ++k) some[k] = positions[i + k].index - first;
    permute.apply({some.data(), n});
    for (size_t k = 0; k < n; ++k) positions[i++].index = first + some[k];
  }
}

std::unique_ptr<Order> Order::leaf(uint32_t ordinal) { return std::make_unique<Leaf>(ordinal); }
std::unique_ptr<Order> Order::shuffle(std::unique_ptr<Order> child, const Shuffle& shuffle, uint64_t total) {
  return std::make_unique<ShuffleOrder>(std::move(child), shuffle, total);
}
std::unique_ptr<Order> Order::repeat(std::unique_ptr<Order> child, uint64_t times, uint64_t child_total) {
  return std::make_unique<RepeatOrder>(std::move(child), times, child_total);
}
std::unique_ptr<Order> Order::skip(std::unique_ptr<Order> child, uint64_t count) {
  return std::make_unique<SkipOrder>(std::move(child), count);
}
std::unique_ptr<Order> Order::mark(std::unique_ptr<Order> child, uint32_t ordinal) {
  return std::make_unique<MarkOrder>(std::move(child), ordinal);
}
std::unique_ptr<Order> Order::concatenate(std::vector<std::unique_ptr<Order>> children,
                                          std::vector<uint64_t> totals) {
  return std::make_unique<ConcatenateOrder>(std::move(children), std::move(totals));
}

}  // namespace headrace
