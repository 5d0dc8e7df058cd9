// The memory of a run: one budget, one ledger, and blocks that are reused.
//
// Everything a run allocates per sample or per batch comes from its Pool. `take` never blocks and never
// exceeds the budget: it returns null, and the executor, which asks before it admits work, waits. Freed
// blocks are kept for later requests of their size class, so a steady state allocates nothing. All methods
// may be called from several threads.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/core/saturate.h"
#include "headrace/core/status.h"

namespace headrace {

class StopFlag;

// What a block is for: the rows of the ledger.
enum class Use : uint8_t { encoded, scratch, slot, ragged, other };
inline constexpr int kUses = 5;
std::string_view use_name(Use use);

class Pool {
 public:
  static std::shared_ptr<Pool> make(size_t budget);
  virtual ~Pool() = default;

  size_t budget() const { return budget_; }
  // Bytes in use now, in total and for one use: without a lock, for callers that ask often.
  virtual size_t in_use() const = 0;
  virtual size_t in_use(Use use) const = 0;

  // A block of at least one byte, or null when it would exceed the budget. The block goes back when its last
  // owner releases it.
  virtual MutableBufferPtr take(size_t size, Use use) = 0;
  // Foreign bytes, kept alive by `owner`, charged to the budget as if a block of `size` had been taken for
  // them: all of them, or those that are used. Null when that would exceed the budget.
  virtual BufferPtr lend(std::span<const std::byte> bytes, size_t size, std::shared_ptr<const void> owner,
                         Use use) = 0;
  // Charge or uncharge bytes held elsewhere (growth of a Scratch). False when over budget; then nothing is
  // charged.
  virtual bool charge(size_t size, Use use) = 0;
  virtual void uncharge(size_t size, Use use) = 0;
  // The blocks leave the budget: they now belong to the consumer, which may keep them as long as it likes.
  virtual void hand_over(std::span<const Buffer* const> blocks) = 0;

  struct Ledger {
    size_t budget = 0, in_use = 0, peak = 0, retained = 0, handed_over = 0;
    std::array<size_t, kUses> by_use{}, peak_by_use{};
    uint64_t allocations = 0, reuses = 0;
  };
  virtual Ledger ledger() const = 0;

 protected:
  explicit Pool(size_t budget) : budget_(budget) {}
  const size_t budget_;
};

// A bump allocator of one worker, emptied after each sample: intermediate pixels and decoder state, never
// results. Must not be shared between threads.
class Scratch {
 public:
  // Without a pool: plain heap, no budget. Without a flag: the work is never stopped.
  explicit Scratch(Pool* pool = nullptr, const StopFlag* stop = nullptr) : pool_(pool), stop_(stop) {}
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // 64-byte aligned, valid until `reset` to an earlier mark. Empty when over budget: return over_budget(...).
  std::span<std::byte> take(size_t size);
  template <class T> std::span<T> take(size_t count) {
    auto bytes = take(saturating_mul(count, sizeof(T)));
    return {reinterpret_cast<T*>(bytes.data()), bytes.empty() ? 0 : count};
  }

  struct Mark {
    size_t chunk = 0, used = 0;
  };
  Mark mark() const { return {chunk_, used_}; }
  void reset(Mark mark);
  void clear() { reset({}); }
  void trim(size_t keep);  // give memory back beyond `keep` bytes; REQUIRES: cleared
  size_t capacity() const { return capacity_; }
  // Charge or uncharge memory that other code takes from the heap for the same work. False when over budget;
  // then nothing is charged.
  bool charge(size_t size) { return !pool_ || pool_->charge(size, Use::scratch); }
  void uncharge(size_t size) {
    if (pool_) pool_->uncharge(size, Use::scratch);
  }
  // The error to return when take() or charge() refused: how much was needed, and the budget.
  Status over_budget(size_t wanted, std::string_view what) const;
  // Whether the work should stop: then return stopped(). Cheap enough for every row of an image.
  bool is_stopped() const;

 private:
  struct Chunk {
    std::byte* data;
    size_t size;
  };
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0, used_ = 0, capacity_ = 0;
  Pool* pool_;
  const StopFlag* stop_;
};

// The error for memory that the budget refused: what it was for, how much, and the budget.
Status over_budget(size_t size, const Pool& pool, std::string_view what);

}  // namespace headrace
