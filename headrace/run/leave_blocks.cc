#include "headrace/run/leave_blocks.h"

#include <algorithm>

#include "headrace/run/evaluate.h"
#include "headrace/run/rows.h"

namespace headrace {
namespace {

// Memory in which fields of some samples lie, and what those fields would take by themselves.
struct BufferUse {
  const Buffer* buffer;
  size_t own_bytes;
};

std::vector<BufferUse> uses_of(std::span<const Sample> samples) {
  constexpr size_t kLeast = 64;  // of any memory
  std::vector<BufferUse> out;
  for (const Sample& sample : samples)
    for (const Tensor& field : sample.fields) {
      if (!field.buffer) continue;  // a list of rows
      auto at = std::ranges::find(out, field.buffer.get(), &BufferUse::buffer);
      if (at == out.end()) at = out.insert(at, {field.buffer.get(), 0});
      at->own_bytes += std::max(field.size_bytes(), kLeast);
    }
  return out;
}

// At least as much as they hold.
size_t most_held_by(std::span<const Sample> samples) {
  size_t out = 0;
  const Buffer* last = nullptr;  // mostly it is that of the field before
  for (const Sample& sample : samples)
    for (const Tensor& field : sample.fields)
      if (field.buffer && field.buffer.get() != last) out += (last = field.buffer.get())->size();
  return out;
}

}  // namespace

Status leave_blocks(std::span<Sample> samples, Pool& pool) {
  constexpr size_t kSmallPart = 8, kBatch = 64;
  const bool is_short = pool.in_use() >= pool.budget() / 2;
  if (!is_short && most_held_by(samples) < pool.budget() / kBatch) return {};
  std::vector<BufferUse> left = uses_of(samples);
  std::erase_if(left, [](const BufferUse& one) { return one.own_bytes > one.buffer->size() / kSmallPart; });
  size_t kept = 0;
  for (const BufferUse& one : left) kept += one.buffer->size();
  if (kept == 0 || kept > pool.budget() / 2) return {};  // of so much copies have no room beside it
  if (!is_short && kept < pool.budget() / kBatch) return {};
  for (Sample& sample : samples)
    for (Tensor& field : sample.fields)
      if (std::ranges::find(left, field.buffer.get(), &BufferUse::buffer) != left.end() &&
          !separate(field, pool))
        return over_budget(field.size_bytes(), pool, "sample");
  return {};
}

bool RowsThatLeave::is_alone(size_t i) const {
  const LeafPlan& leaf = level_.leaves[part_.at[i].leaf];
  if (part_.blocks.empty() || !leaf.source || !leaf.caches.empty()) return false;
  const Block* const block = part_.blocks[i].get();  // null where memory is short: it is read as it is run
  return !block || (block != block_ && (i + 1 == part_.count || part_.blocks[i + 1].get() != block));
}

void RowsThatLeave::begin_row(size_t i) {
  row_ = i, is_alone_ = is_alone(i);
  block_ = part_.blocks.empty() ? nullptr : part_.blocks[i].get();
}

Status RowsThatLeave::leave(std::span<Sample> samples) {
  if (!is_alone_) return {};
  Status status = leave_blocks(samples, pool_);
  if (status.ok()) return status;
  for (size_t later = row_ + 1; later < part_.count; ++later)
    part_.forget_row(later);  // read ahead: that goes first
  return leave_blocks(samples, pool_);
}

}  // namespace headrace
