#include "headrace/run/order/level.h"

#include <algorithm>

#include "headrace/run/order/reader_order.h"

namespace headrace {

bool LeafPlan::resident() const {
  if (source) return source->resident();
  const auto all_resident = [](const auto& level) {
    return std::ranges::all_of(level->leaves, [](const LeafPlan& leaf) { return leaf.resident(); });
  };
  return rows ? all_resident(rows) : std::ranges::all_of(zipped, all_resident);
}

uint64_t LeafPlan::rows_from(uint64_t first, uint64_t total) const {
  return std::min(batch.size, (total - first - 1) / stride + 1);
}

bool Level::is_plain() const { return std::ranges::all_of(leaves, &LeafPlan::is_plain); }

uint64_t Level::size(uint64_t epoch, const Start& start) const {
  if (by_epoch) return by_epoch->size_in(epoch, even);
  const uint64_t base = start.base_in(epoch);
  if (shard) return shard_size(*shard, total, base);
  return total == kInfinite ? kInfinite : total - std::min(total, base);
}

uint64_t Level::most() const { return by_epoch ? kInfinite : size(0, kWholeEpochs); }

Status Level::check(uint64_t epoch) const { return by_epoch && even ? by_epoch->check(epoch) : Status(); }

uint64_t Level::global(uint64_t position, uint64_t epoch, const Start& start, bool* wrapped) const {
  const uint64_t base = start.base_in(epoch);
  const uint64_t g = shard ? base + position * shard->world + shard->rank : base + position;
  *wrapped = g >= total;
  return *wrapped ? (g - total) % total : g;
}

void Level::locate(uint64_t first, uint64_t epoch, uint32_t occurrence, const Start& start,
                   std::span<Position> out, uint64_t step) const {
  const uint64_t base = start.base_in(epoch);
  const bool within = !shard && base + first + out.size() * step <= total;
  for (size_t i = 0; within && i < out.size(); ++i)
    out[i] = {base + first + i * step, epoch, 0, occurrence, true};
  for (size_t i = 0; !within && i < out.size(); ++i) {
    bool wrapped = false;
    const uint64_t g = global(first + i * step, epoch, start, &wrapped);
    out[i] = {g, epoch, 0, occurrence + (wrapped ? 1u : 0u), !(wrapped && shard && shard->even == Even::pad)};
  }
  order->locate(out);
}

}  // namespace headrace
