// The two-level shuffle: the blocks of the data change places, then the samples of every `blocks` of them
// that follow each other. Layout, part of the contract (tests/model/order.py restates it):
//   block j of m in epoch e comes at place i with Permutation(seed, e, m)(i) = j; places [g·k, (g + 1)·k) are
//   group g; its n samples, one block behind the other, are taken in the order of Permutation(s, e, n) with s
//   = first 64 bits of philox(key = seed, counter = (0xB10C, 0x5EED, g_lo, g_hi))
// A block is a run of neighbours; where each has one sample, a permutation of all is what remains.
#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "headrace/core/key.h"
#include "headrace/core/permutation.h"
#include "headrace/run/order.h"

namespace headrace {
namespace {

constexpr uint32_t kGroups = 0xB10C, kSeed = 0x5EED;
constexpr size_t kMostEpochs = 4;  // whose orders are kept: batches of two are made at once

class BlockShuffleOrder final : public Order {
 public:
  BlockShuffleOrder(std::unique_ptr<Order> child, uint64_t seed, uint64_t blocks, uint64_t total, BlockOf of)
      : child_(std::move(child)), seed_(seed), blocks_(blocks), total_(total), block_of_(std::move(of)) {}

  void locate(std::span<Position> positions) const override {
    std::call_once(cut_, [this] { cut(); });
    const bool are_single = first_.size() == total_ + 1;
    for (size_t i = 0; i < positions.size();) {  // runs of one epoch share a permutation of the blocks
      size_t end = i + 1;
      while (end < positions.size() && positions[end].epoch == positions[i].epoch) ++end;
      const std::span<Position> run = positions.subspan(i, end - i);
      if (are_single)
        permute(run);
      else
        locate_in(*epoch(run[0].epoch), run);
      i = end;
    }
    child_->locate(positions);
  }

 private:
  // Of an epoch: where each group of blocks begins, and the end.
  struct Epoch {
    uint64_t epoch = 0;
    Permutation order;
    std::vector<uint64_t> begins;
  };

  uint64_t num_blocks() const { return first_.size() - 1; }
  uint64_t size_of(uint64_t block) const { return first_[block + 1] - first_[block]; }

  // Where blocks begin among the child's positions. A run of one block is looked through in steps that
  // double.
  void cut() const {
    const auto of = [&](uint64_t index) {
      Position at{index};
      child_->locate({&at, 1});
      return block_of_(at);
    };
    for (uint64_t begin = 0; begin < total_;) {
      first_.push_back(begin);
      const auto block = of(begin);
      uint64_t low = begin, step = 1;  // `low` is in the block
      while (low + step < total_ && of(low + step) == block) low += step, step *= 2;
      for (; step > 0; step /= 2)
        if (low + step < total_ && of(low + step) == block) low += step;
      begin = low + 1;
    }
    first_.push_back(total_);
  }

  void permute(std::span<Position> run) const {
    const Permutation order(seed_, run[0].epoch, total_);
    std::array<uint64_t, 256> some;
    for (size_t i = 0; i < run.size();) {
      const size_t n = std::min(some.size(), run.size() - i);
      for (size_t k = 0; k < n; ++k) some[k] = run[i + k].index;
      order.apply({some.data(), n});
      for (size_t k = 0; k < n; ++k) run[i + k].index = some[k];
      i += n;
    }
  }

  std::shared_ptr<const Epoch> epoch(uint64_t number) const {
    {
      const std::lock_guard lock(mutex_);
      for (const auto& one : epochs_)
        if (one->epoch == number) return one;
    }
    auto made = std::make_shared<Epoch>();
    made->epoch = number;
    made->order = Permutation(seed_, number, num_blocks());
    uint64_t end = 0;
    for (uint64_t place = 0; place < num_blocks(); ++place) {
      if (place % blocks_ == 0) made->begins.push_back(end);
      end += size_of(made->order(place));
    }
    made->begins.push_back(end);
    const std::lock_guard lock(mutex_);
    if (epochs_.size() == kMostEpochs) epochs_.erase(epochs_.begin());
    epochs_.push_back(made);
    return made;
  }

  void locate_in(const Epoch& epoch, std::span<Position> run) const {
    for (size_t i = 0; i < run.size();) {  // runs of one group
      const auto behind = std::ranges::upper_bound(epoch.begins, run[i].index);
      const uint64_t begin = *(behind - 1), end = *behind;
      const auto group = static_cast<uint64_t>(behind - epoch.begins.begin() - 1);
      const uint64_t first_place = group * blocks_, places = std::min(blocks_, num_blocks() - first_place);
      std::vector<uint64_t> blocks(places), ends(places);  // of the group
      for (uint64_t k = 0, n = 0; k < places; ++k) {
        blocks[k] = epoch.order(first_place + k);
        ends[k] = n += size_of(blocks[k]);
      }
      const Permutation within(Key::k1(seed_, kGroups, kSeed, group), epoch.epoch, end - begin);
      for (; i < run.size() && run[i].index >= begin && run[i].index < end; ++i) {
        const uint64_t n = within(run[i].index - begin);
        const auto k = static_cast<size_t>(std::ranges::upper_bound(ends, n) - ends.begin());
        run[i].index = first_[blocks[k]] + n - (k == 0 ? 0 : ends[k - 1]);
      }
    }
  }

  std::unique_ptr<Order> child_;
  uint64_t seed_, blocks_, total_;
  BlockOf block_of_;
  mutable std::once_flag cut_;
  mutable std::vector<uint64_t> first_;  // of each block, and the end; once they are cut
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const Epoch>> epochs_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<Order> Order::shuffle_blocks(std::unique_ptr<Order> child, uint64_t seed, uint64_t blocks,
                                             uint64_t total, BlockOf block_of) {
  return std::make_unique<BlockShuffleOrder>(std::move(child), seed, blocks, total, std::move(block_of));
}

}  // namespace headrace
