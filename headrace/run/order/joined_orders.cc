// Orders of mix, choose, sample, sort_by and select.
#include <algorithm>
#include <array>
#include <mutex>

#include "headrace/core/random/key.h"
#include "headrace/core/random/weighted_order.h"
#include "headrace/run/order/order.h"

namespace headrace {
namespace {

// Distributes positions to several children. Route::at(position) gives the child and the position in it.
template <class Route> class RoutedOrder final : public Order {
 public:
  RoutedOrder(std::vector<std::unique_ptr<Order>> children, std::vector<uint64_t> totals,
              std::shared_ptr<const Route> route, bool cycle)
      : children_(std::move(children)), totals_(std::move(totals)), route_(std::move(route)), cycle_(cycle) {}

  void locate(std::span<Position> positions) const override {
    for (size_t first = 0; first < positions.size(); first += kBlock)
      locate_block(positions.subspan(first, std::min(kBlock, positions.size() - first)));
  }

 private:
  static constexpr size_t kBlock = 64;

  uint32_t route(Position& p) const {
    const Mixture::Turn turn = route_->at(p.index);
    p.index = turn.index;
    if (cycle_) {
      const uint64_t total = totals_[turn.source], pass = p.index / total;
      p.index -= pass * total;
      p.epoch = epoch_of_pass(p.epoch, 0, pass);
    }
    return turn.source;
  }

  // Positions of one child are located together.
  void locate_block(std::span<Position> positions) const {
    if (positions.size() == 1) return children_[route(positions[0])]->locate(positions);
    std::array<uint32_t, kBlock> source;
    for (size_t i = 0; i < positions.size(); ++i) source[i] = route(positions[i]);
    constexpr uint32_t kDone = ~uint32_t{0};
    std::array<Position, kBlock> together;
    std::array<size_t, kBlock> from;
    for (size_t i = 0; i < positions.size(); ++i) {
      if (source[i] == kDone) continue;
      const uint32_t child = source[i];
      size_t n = 0;
      for (size_t k = i; k < positions.size(); ++k) {
        if (source[k] != child) continue;
        together[n] = positions[k], from[n++] = k, source[k] = kDone;
      }
      children_[child]->locate({together.data(), n});
      for (size_t k = 0; k < n; ++k) positions[from[k]] = together[k];
    }
  }

  std::vector<std::unique_ptr<Order>> children_;
  std::vector<uint64_t> totals_;
  std::shared_ptr<const Route> route_;
  bool cycle_;
};

// Sampling with replacement: each draw has its own occurrence number, so that repeated samples get different
// augmentations.
class SampleOrder final : public Order {
 public:
  SampleOrder(std::unique_ptr<Order> child, std::shared_ptr<const AliasTable> table, uint64_t seed)
      : child_(std::move(child)), table_(std::move(table)), seed_(seed) {}
  void locate(std::span<Position> positions) const override {
    for (Position& p : positions) {
      p.occurrence += static_cast<uint32_t>(p.index);
      p.index = table_->draw_at(seed_, p.epoch, p.index);
    }
    child_->locate(positions);
  }

 private:
  std::unique_ptr<Order> child_;
  std::shared_ptr<const AliasTable> table_;
  uint64_t seed_;
};

// Without replacement an epoch's order is a list, made on first use; those of the last epochs are kept.
class WeightedOrder final : public Order {
 public:
  WeightedOrder(std::unique_ptr<Order> child, const Draw& draw)
      : child_(std::move(child)),
        weights_(draw.weights),
        seed_(draw.seed),
        count_(draw.count.value_or(weights_->size())) {}
  void locate(std::span<Position> positions) const override {
    std::shared_ptr<const List> list;
    uint64_t epoch = 0;
    for (Position& p : positions) {
      if (!list || p.epoch != epoch) list = list_of(epoch = p.epoch);
      p.index = (*list)[p.index];
    }
    child_->locate(positions);
  }

 private:
  using List = std::vector<uint64_t>;
  std::shared_ptr<const List> list_of(uint64_t epoch) const {
    std::lock_guard lock(mutex_);
    for (const auto& [known, list] : lists_)
      if (known == epoch && list) return list;
    std::swap(lists_[0], lists_[1]);
    lists_[0] = {epoch, std::make_shared<const List>(weighted_order(*weights_, seed_, epoch, count_))};
    return lists_[0].second;
  }

  std::unique_ptr<Order> child_;
  std::shared_ptr<const std::vector<double>> weights_;
  uint64_t seed_, count_;
  mutable std::mutex mutex_;
  mutable std::array<std::pair<uint64_t, std::shared_ptr<const List>>, 2> lists_;  // newest first
};

class ChosenOrder final : public Order {
 public:
  ChosenOrder(std::unique_ptr<Order> child, std::shared_ptr<const std::vector<uint64_t>> indices,
              std::shared_ptr<const std::vector<uint32_t>> occurrences)
      : child_(std::move(child)), indices_(std::move(indices)), occurrences_(std::move(occurrences)) {}
  void locate(std::span<Position> positions) const override {
    for (Position& p : positions) {
      if (occurrences_) p.occurrence += (*occurrences_)[p.index];
      p.index = (*indices_)[p.index];
    }
    child_->locate(positions);
  }

 private:
  std::unique_ptr<Order> child_;
  std::shared_ptr<const std::vector<uint64_t>> indices_;
  std::shared_ptr<const std::vector<uint32_t>> occurrences_;
};

}  // namespace

std::unique_ptr<Order> Order::mix(std::vector<std::unique_ptr<Order>> children, std::vector<uint64_t> totals,
                                  const Mix& mix) {
  return std::make_unique<RoutedOrder<Mixture>>(std::move(children), std::move(totals), mix.order,
                                                mix.stop == MixStop::cycle);
}
std::unique_ptr<Order> Order::choose(std::vector<std::unique_ptr<Order>> children,
                                     std::vector<uint64_t> totals, const Choose& choose) {
  return std::make_unique<RoutedOrder<Choices>>(std::move(children), std::move(totals), choose.order,
                                                choose.stop == MixStop::cycle);
}
std::unique_ptr<Order> Order::sample(std::unique_ptr<Order> child, const Draw& draw) {
  if (!draw.replacement) return std::make_unique<WeightedOrder>(std::move(child), draw);
  return std::make_unique<SampleOrder>(std::move(child), draw.table, draw.seed);
}
std::unique_ptr<Order> Order::chosen(std::unique_ptr<Order> child,
                                     std::shared_ptr<const std::vector<uint64_t>> indices,
                                     std::shared_ptr<const std::vector<uint32_t>> occurrences) {
  return std::make_unique<ChosenOrder>(std::move(child), std::move(indices), std::move(occurrences));
}

}  // namespace headrace
