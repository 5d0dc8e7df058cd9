// The two-level shuffle: first the lots of the data (samples stored together: Source::lot()) are shuffled,
// then the samples of every k consecutive lots. Layout, part of the contract (tests/model/order.py restates
// it):
//   place i of m has lot Permutation(seed, e, m)(i) in epoch e; places [g·k, (g + 1)·k) are group g; its n
//   samples, one lot after the other, are taken in the order of Permutation(s, e, n) with s = first 64 bits
//   of philox(key = seed, counter = (0xB10C, 0x5EED, g_lo, g_hi))
// If each lot has one sample, this is a permutation of all samples.
#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
#include <ranges>
#include <utility>
#include <vector>

#include "headrace/core/random/key.h"
#include "headrace/core/random/permutation.h"
#include "headrace/core/saturate.h"
#include "headrace/run/order/order.h"

namespace headrace {
namespace {

constexpr uint32_t kGroups = 0xB10C, kSeed = 0x5EED;
constexpr size_t kMostEpochs = 8;  // orders kept: batches of two epochs are made at once

// The first position of each lot in `order`, and the end.
struct Lots {
  std::vector<uint64_t> begins;
  uint64_t most_blocks = 1;  // maximum in one lot
};

bool is_file_each(const Source& source) {
  return source.num_files() >= source.size() && source.size() > 1 && source.lot(0).end == 1;
}

// REQUIRES: the leaves of `order` have sources, and `order` keeps their samples in order (graph/in_order.h).
Lots cut(const Order& order, uint64_t total, const std::vector<SourcePtr>& sources) {
  Lots out;
  const auto at = [&](uint64_t index) {
    Position position{index};
    order.locate({&position, 1});
    return position;
  };
  for (uint64_t begin = 0; begin < total;) {
    out.begins.push_back(begin);
    const Position first = at(begin);
    const Lot lot = sources[first.leaf]->lot(first.index);
    out.most_blocks = std::max(out.most_blocks, lot.blocks);
    // The lot is cut short if the leaf ends earlier.
    const auto is_in = [&](uint64_t count) {
      const Position last = at(begin + count - 1);
      return last.leaf == first.leaf && last.index == first.index + count - 1;
    };
    uint64_t count = std::min(lot.end - first.index, total - begin);
    if (!is_in(count)) {
      const auto counts = std::views::iota(uint64_t{1}, count);
      count = static_cast<uint64_t>(std::ranges::partition_point(counts, is_in) - counts.begin());
    }
    begin += count;
  }
  out.begins.push_back(total);
  return out;
}

class BlockShuffleOrder final : public Order {
 public:
  BlockShuffleOrder(std::unique_ptr<Order> child, const Shuffle& shuffle, uint64_t lots,
                    std::vector<uint64_t> begins)
      : child_(std::move(child)), shuffle_(shuffle), lots_(lots), begins_(std::move(begins)) {}

  void locate(std::span<Position> positions) const override {
    for (size_t i = 0; i < positions.size();) {  // runs of one epoch share a permutation of the lots
      size_t end = i + 1;
      while (end < positions.size() && positions[end].epoch == positions[i].epoch) ++end;
      locate_in(*epoch(shuffle_.epoch_of_order(positions[i].epoch)), positions.subspan(i, end - i));
      i = end;
    }
    child_->locate(positions);
  }

 private:
  struct Epoch {
    uint64_t epoch = 0;
    std::vector<uint64_t> lot, ends;  // by place: its lot; the number of samples up to its end
  };

  std::shared_ptr<const Epoch> find(uint64_t number) const {  // REQUIRES: mutex_ is held
    const auto at = std::ranges::find(epochs_, number, [](const auto& one) { return one->epoch; });
    if (at == epochs_.end()) return nullptr;
    std::rotate(at, at + 1, epochs_.end());
    return epochs_.back();
  }

  std::shared_ptr<const Epoch> epoch(uint64_t number) const {
    {
      const std::lock_guard lock(mutex_);
      if (auto known = find(number)) return known;
    }
    auto made = std::make_shared<Epoch>();
    made->epoch = number;
    made->lot.resize(begins_.size() - 1);
    std::iota(made->lot.begin(), made->lot.end(), uint64_t{0});
    Permutation(shuffle_.seed, number, made->lot.size()).apply(made->lot);
    uint64_t end = 0;
    made->ends.reserve(made->lot.size());
    for (const uint64_t lot : made->lot) made->ends.push_back(end += begins_[lot + 1] - begins_[lot]);
    const std::lock_guard lock(mutex_);
    if (auto known = find(number)) return known;
    if (epochs_.size() == kMostEpochs) epochs_.erase(epochs_.begin());
    epochs_.push_back(made);
    return made;
  }

  void locate_in(const Epoch& epoch, std::span<Position> run) const {
    const std::vector<uint64_t>& ends = epoch.ends;
    const auto place_of = [&](uint64_t index, uint64_t from, uint64_t to) {
      const auto begin = ends.begin();
      return static_cast<uint64_t>(std::upper_bound(begin + static_cast<std::ptrdiff_t>(from),
                                                    begin + static_cast<std::ptrdiff_t>(to), index) -
                                   begin);
    };
    for (size_t i = 0; i < run.size();) {  // runs of one group
      const uint64_t group = place_of(run[i].index, 0, ends.size()) / lots_;
      const uint64_t first = group * lots_, behind = std::min<uint64_t>(ends.size(), first + lots_);
      const uint64_t begin = first == 0 ? 0 : ends[first - 1], end = ends[behind - 1];
      const auto is_in = [&](const Position& p) { return begin <= p.index && p.index < end; };
      const auto rest = run.subspan(i);
      const auto in = rest.first(static_cast<size_t>(std::ranges::find_if_not(rest, is_in) - rest.begin()));
      permute_indices({Key::k1(shuffle_.seed, kGroups, kSeed, group), epoch.epoch, end - begin}, begin, in);
      for (Position& p : in) {
        const uint64_t place = place_of(p.index, first, behind);
        p.index += begins_[epoch.lot[place]] - (place == 0 ? 0 : ends[place - 1]);
      }
      i += in.size();
    }
  }

  std::unique_ptr<Order> child_;
  Shuffle shuffle_;
  uint64_t lots_;
  std::vector<uint64_t> begins_;  // of each lot, and the end
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const Epoch>> epochs_;  // last used at the end; guarded by mutex_
};

}  // namespace

std::unique_ptr<Order> Order::shuffle_blocks(std::unique_ptr<Order> child, const Shuffle& kind,
                                             uint64_t total, const std::vector<SourcePtr>& sources,
                                             uint64_t& kept_blocks) {
  const bool is_each_alone =
      std::ranges::all_of(sources, [](const SourcePtr& source) { return !source || is_file_each(*source); });
  if (is_each_alone) return shuffle(std::move(child), kind, total);
  Lots lots = cut(*child, total, sources);
  // There are no more to mix.
  const uint64_t blocks = std::min<uint64_t>(kind.blocks, std::max<size_t>(1, lots.begins.size() - 1));
  kept_blocks = std::max(kept_blocks, saturating_mul(2 * blocks, lots.most_blocks));
  if (lots.begins.size() == total + 1) return shuffle(std::move(child), kind, total);
  return std::make_unique<BlockShuffleOrder>(std::move(child), kind, blocks, std::move(lots.begins));
}

}  // namespace headrace
