#include "headrace/run/work/leave_blocks.h"

#include <algorithm>
#include <cstring>

#include "headrace/run/evaluate/evaluate.h"
#include "headrace/run/evaluate/sample_rows.h"

namespace headrace {
namespace {

constexpr size_t kSmallPart = 8;  // at most 1/8 of its buffer
constexpr size_t kNoBlock = ~size_t{0};

// A buffer with fields of some samples, and the bytes that copies of those fields would take.
struct BufferUse {
  const Buffer* buffer;
  size_t own_bytes;
};

std::vector<BufferUse> uses_of(std::span<const Sample> samples) {
  constexpr size_t kLeast = 64;  // minimum allocation
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

// An upper bound on the memory they hold.
size_t most_held_by(std::span<const Sample> samples) {
  size_t out = 0;
  const Buffer* last = nullptr;  // mostly the same as that of the previous field
  for (const Sample& sample : samples)
    for (const Tensor& field : sample.fields)
      if (field.buffer && field.buffer.get() != last) out += (last = field.buffer.get())->size();
  return out;
}

}  // namespace

Status leave_blocks(std::span<Sample> samples, Pool& pool) {
  constexpr size_t kBatch = 64;
  const bool is_short = pool.in_use() >= pool.budget() / 2;
  if (!is_short && most_held_by(samples) < pool.budget() / kBatch) return {};
  std::vector<BufferUse> left = uses_of(samples);
  std::erase_if(left, [](const BufferUse& one) { return one.own_bytes > one.buffer->size() / kSmallPart; });
  size_t kept = 0;
  for (const BufferUse& one : left) kept += one.buffer->size();
  if (kept == 0 || kept > pool.budget() / 2) return {};  // no room for both the buffers and the copies
  if (!is_short && kept < pool.budget() / kBatch) return {};
  for (Sample& sample : samples)
    for (Tensor& field : sample.fields)
      if (std::ranges::find(left, field.buffer.get(), &BufferUse::buffer) != left.end() &&
          !separate(field, pool))
        return over_budget(field.size_bytes(), pool, "sample");
  return {};
}

// How many rows from this one on are in its block, as far as it matters; kNoBlock without a block.
size_t RowsThatLeave::num_in_block(size_t i) const {
  const LeafPlan& leaf = level_.leaves[part_.at[i].leaf];
  if (part_.blocks.empty() || !leaf.source || !leaf.caches.empty()) return kNoBlock;
  const Block* const block =
      part_.blocks[i].get();  // null when out of memory: then it is read when it is run
  size_t end = i + 1;
  while (block && end < part_.count && end - i <= TextsThatLeave::kMostRows &&
         part_.blocks[end].get() == block)
    ++end;
  return end - i;
}

void RowsThatLeave::begin_row(size_t i) {
  row_ = i;
  const Block* const block = part_.blocks.empty() ? nullptr : part_.blocks[i].get();
  if (i == 0 || !block || block != block_) num_in_block_ = num_in_block(i);
  block_ = block;
}

Status RowsThatLeave::leave(std::span<Sample> samples) {
  if (num_in_block_ != 1) return {};
  Status status = leave_blocks(samples, pool_);
  if (status.ok()) return status;
  for (size_t later = row_ + 1; later < part_.count; ++later)
    part_.forget_row(later);  // read ahead: dropped first
  return leave_blocks(samples, pool_);
}

void RowsThatLeave::leave(Tensor& text) {
  if (num_in_block_ <= TextsThatLeave::kMostRows) texts_.leave(text);
}

TextRows& TextsThatLeave::begin(size_t rows, TextRows& to) {
  texts_.resize(rows), owners_.clear(), to_ = &to;
  return rows_.emplace(texts_.data(), 0, owners_);
}

void TextsThatLeave::leave() {
  if (!to_) return;
  for (size_t o = 0; o < owners_.size(); ++o) {
    const BufferPtr& buffer = owners_[o].buffer;
    const size_t first = owners_[o].first,
                 end = o + 1 < owners_.size() ? owners_[o + 1].first : texts_.size();
    size_t bytes = 0;
    for (size_t i = first; i < end; ++i) bytes += texts_[i].size();
    const bool is_small = buffer && bytes < buffer->size() / kSmallPart;
    for (size_t i = first; i < end; ++i) {
      const auto copy = is_small ? copied(texts_[i]) : std::nullopt;
      to_->set(i, copy ? buffer_ : buffer, copy ? *copy : texts_[i]);
    }
  }
  owners_.clear(), to_ = nullptr;
}

void TextsThatLeave::leave(Tensor& text) {
  if (!text.buffer || text.size_bytes() >= text.buffer->size() / kSmallPart) return;
  const auto copy = copied(text.view().bytes());
  if (copy) text.buffer = buffer_, text.offset = static_cast<size_t>(copy->data() - buffer_->data());
}

std::optional<Text> TextsThatLeave::copied(Text bytes) {
  constexpr size_t kLeast = 4 << 10;
  if (!buffer_ || bytes.size() > left_.size()) {
    auto made = pool_.take(std::max(bytes.size(), kLeast), Use::slot);
    if (!made && bytes.size() < kLeast) made = pool_.take(std::max<size_t>(bytes.size(), 1), Use::slot);
    if (!made) return std::nullopt;
    left_ = {made->mutable_data(), made->size()}, buffer_ = std::move(made);
  }
  const auto to = left_.first(bytes.size());
  if (!bytes.empty()) std::memcpy(to.data(), bytes.data(), bytes.size());
  left_ = left_.subspan(bytes.size());
  return to;
}

}  // namespace headrace
