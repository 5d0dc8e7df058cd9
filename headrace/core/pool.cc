#include "headrace/core/pool.h"

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <limits>
#include <new>
#include <unordered_map>

#include "headrace/core/stop_flag.h"

namespace headrace {

std::string_view use_name(Use use) {
  constexpr std::array<std::string_view, kUses> names{"encoded", "scratch", "slot", "ragged", "other"};
  return names[static_cast<size_t>(use)];
}

namespace {

constexpr size_t kAlign = 64;

// The budget, what holds it, and what to change, for the error that `wanted` bytes were refused.
std::string budget_text(size_t wanted, const Pool::Ledger& ledger) {
  std::string out = std::to_string(ledger.budget);
  if (wanted > ledger.budget) return out + "; use a larger memory_budget";
  constexpr std::array<std::string_view, kUses> words{"read bytes", "work of operators", "batches",
                                                      "ragged rows", "others"};
  std::string held;
  for (size_t i = 0; i < kUses; ++i)
    if (ledger.by_use[i] > 0)
      held += (held.empty() ? ": " : ", ") + std::string(words[i]) + " " + std::to_string(ledger.by_use[i]);
  return out + ", of which " + std::to_string(ledger.in_use) + " are in use" + held +
         "; use a smaller batch or window, fewer workers, io or ready, or a larger memory_budget";
}

// Larger blocks come from the system and go back to it. malloc would keep freed memory, in an arena per
// thread, unaccounted for.
constexpr size_t kFromSystem = size_t{256} << 10;

void* allocate(size_t size) {
  if (size < kFromSystem) return std::aligned_alloc(kAlign, size);
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data == MAP_FAILED ? nullptr : data;
}

void release(void* data, size_t size) {
  if (size < kFromSystem)
    std::free(data);
  else
    munmap(data, size);
}

// Size classes: four per power of two, so that a block is at most a quarter larger than requested.
size_t round_up(size_t size) {
  if (size <= 4096) return (size + kAlign - 1) / kAlign * kAlign + (size == 0 ? kAlign : 0);
  const size_t step = std::bit_floor(size - 1) / 4;
  return (size + step - 1) / step * step;
}

// Of a mutex that is held for some tens of nanoseconds, by threads that come often. A thread that finds it
// locked spins for a while: sleeping and waking up cost more than the work done under the lock.
class BriefLock {
 public:
  explicit BriefLock(std::mutex& mutex) : mutex_(mutex) {
    constexpr int kTries = 100;
    for (int i = 0; i < kTries; ++i) {
      if (mutex_.try_lock()) return;
      pause();
    }
    mutex_.lock();
  }
  ~BriefLock() { mutex_.unlock(); }
  BriefLock(const BriefLock&) = delete;
  BriefLock& operator=(const BriefLock&) = delete;

 private:
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  std::mutex& mutex_;
};

class PoolImpl final : public Pool, public std::enable_shared_from_this<PoolImpl> {
 public:
  explicit PoolImpl(size_t budget) : Pool(budget) { ledger_.budget = budget; }
  ~PoolImpl() override { release_retained(); }

  MutableBufferPtr take(size_t size, Use use) override;
  bool charge(size_t size, Use use) override {
    BriefLock lock(mutex_);
    return charge_locked(size, use);
  }
  void uncharge(size_t size, Use use) override {
    BriefLock lock(mutex_);
    uncharge_locked(size, use);
  }
  size_t in_use() const override { return in_use_.load(std::memory_order_relaxed); }
  size_t in_use(Use use) const override {
    return by_use_[static_cast<size_t>(use)].load(std::memory_order_relaxed);
  }
  void hand_over(std::span<const Buffer* const> blocks) override;
  Ledger ledger() const override {
    BriefLock lock(mutex_);
    return ledger_;
  }

  BufferPtr lend(std::span<const std::byte> bytes, size_t size, std::shared_ptr<const void> owner,
                 Use use) override;
  void give_back(void* data, size_t capacity, Use use, bool handed_over);

 private:
  bool charge_locked(size_t size, Use use) {
    // Retained blocks count too: free them before refusing.
    if (size > ledger_.budget) return false;
    if (ledger_.in_use + ledger_.retained + size > ledger_.budget) release_retained();
    if (ledger_.in_use + size > ledger_.budget) return false;
    ledger_.in_use += size;
    ledger_.peak = std::max(ledger_.peak, ledger_.in_use);
    auto& row = ledger_.by_use[static_cast<size_t>(use)];
    row += size;
    auto& peak = ledger_.peak_by_use[static_cast<size_t>(use)];
    peak = std::max(peak, row);
    show(use);
    return true;
  }
  void uncharge_locked(size_t size, Use use) {
    ledger_.in_use -= size;
    ledger_.by_use[static_cast<size_t>(use)] -= size;
    show(use);
  }
  void show(Use use) {
    const auto row = static_cast<size_t>(use);
    in_use_.store(ledger_.in_use, std::memory_order_relaxed);
    by_use_[row].store(ledger_.by_use[row], std::memory_order_relaxed);
  }
  void release_retained() {
    for (auto& [size, blocks] : free_) {
      for (void* block : blocks) release(block, size);
      blocks.clear();
    }
    ledger_.retained = 0;
  }

  mutable std::mutex mutex_;
  Ledger ledger_;                   // guarded by mutex_
  std::atomic<size_t> in_use_ = 0;  // the same value, readable without the lock
  std::array<std::atomic<size_t>, kUses> by_use_{};
  std::unordered_map<size_t, std::vector<void*>> free_;  // guarded by mutex_
};

// A block, or bytes that `owner` keeps.
class PoolBuffer final : public Buffer {
 public:
  PoolBuffer(std::byte* data, size_t size, size_t capacity, Use use, std::shared_ptr<PoolImpl> pool,
             std::shared_ptr<const void> owner = nullptr)
      : Buffer(data, size),
        capacity_(capacity),
        use_(use),
        pool_(std::move(pool)),
        owner_(std::move(owner)) {}
  ~PoolBuffer() override { pool_->give_back(owner_ ? nullptr : data_, capacity_, use_, handed_over_); }

  size_t capacity_;
  Use use_;
  bool handed_over_ = false;  // written under the pool's mutex, before the block reaches the consumer
  std::shared_ptr<PoolImpl> pool_;
  std::shared_ptr<const void> owner_;
};

MutableBufferPtr PoolImpl::take(size_t size, Use use) {
  if (size > budget_) return nullptr;  // also keeps round_up from wrapping
  const size_t capacity = round_up(size);
  void* data = nullptr;
  {
    BriefLock lock(mutex_);
    auto& blocks = free_[capacity];
    if (!blocks.empty()) {
      data = blocks.back();
      blocks.pop_back();
      ledger_.retained -= capacity;
      if (!charge_locked(capacity, use)) {
        release(data, capacity);
        return nullptr;
      }
      ++ledger_.reuses;
    } else {
      if (!charge_locked(capacity, use)) return nullptr;
      ++ledger_.allocations;
    }
  }
  if (!data) data = allocate(capacity);
  if (!data) {
    uncharge(capacity, use);
    return nullptr;
  }
  return std::make_shared<PoolBuffer>(static_cast<std::byte*>(data), size, capacity, use, shared_from_this());
}

BufferPtr PoolImpl::lend(std::span<const std::byte> bytes, size_t size, std::shared_ptr<const void> owner,
                         Use use) {
  if (!charge(size, use)) return nullptr;
  return std::make_shared<const PoolBuffer>(const_cast<std::byte*>(bytes.data()), bytes.size(), size, use,
                                            shared_from_this(), std::move(owner));
}

void PoolImpl::hand_over(std::span<const Buffer* const> blocks) {
  BriefLock lock(mutex_);
  for (const Buffer* const block : blocks) {
    auto* const mine = dynamic_cast<PoolBuffer*>(const_cast<Buffer*>(block));
    if (!mine || mine->pool_.get() != this || mine->handed_over_) continue;
    mine->handed_over_ = true;
    uncharge_locked(mine->capacity_, mine->use_);
    ledger_.handed_over += mine->capacity_;
  }
}

void PoolImpl::give_back(void* data, size_t capacity, Use use, bool handed_over) {
  {
    BriefLock lock(mutex_);
    if (handed_over)
      ledger_.handed_over -= capacity;
    else
      uncharge_locked(capacity, use);
    if (!data) return;
    if (ledger_.in_use + ledger_.retained + capacity <= ledger_.budget) {
      free_[capacity].push_back(data);
      ledger_.retained += capacity;
      return;
    }
  }
  release(data, capacity);
}

}  // namespace

std::shared_ptr<Pool> Pool::make(size_t budget) { return std::make_shared<PoolImpl>(budget); }

Scratch::~Scratch() {
  clear();
  trim(0);
}

std::span<std::byte> Scratch::take(size_t size) {
  if (size > std::numeric_limits<size_t>::max() / 2) return {};  // never available; rounding up would wrap
  size = std::max<size_t>((size + kAlign - 1) / kAlign * kAlign, kAlign);
  while (chunk_ < chunks_.size()) {
    if (chunks_[chunk_].size - used_ >= size) {
      std::byte* data = chunks_[chunk_].data + used_;
      used_ += size;
      return {data, size};
    }
    ++chunk_, used_ = 0;
  }
  size_t want = std::max<size_t>(size, size_t{256} << 10);
  if (pool_ && !pool_->charge(want, Use::scratch)) {
    want = size;  // a chunk for many samples does not fit; one for this sample might
    if (!pool_->charge(want, Use::scratch)) return {};
  }
  void* data = allocate(want);
  if (!data) {
    if (pool_) pool_->uncharge(want, Use::scratch);
    return {};
  }
  chunks_.push_back({static_cast<std::byte*>(data), want});
  capacity_ += want;
  used_ = size;
  return {static_cast<std::byte*>(data), size};
}

Status Scratch::over_budget(size_t wanted, std::string_view what) const {
  std::string text = "needs " + std::to_string(wanted) + " bytes for " + std::string(what);
  if (pool_) text += ", but the memory budget is " + budget_text(wanted, pool_->ledger());
  return {Code::exhausted, std::move(text)};
}

bool Scratch::is_stopped() const { return stop_ && stop_->raised(); }

void Scratch::reset(Mark mark) { chunk_ = mark.chunk, used_ = mark.used; }

void Scratch::trim(size_t keep) {
  while (!chunks_.empty() && capacity_ > keep) {
    const Chunk last = chunks_.back();
    chunks_.pop_back();
    capacity_ -= last.size;
    release(last.data, last.size);
    if (pool_) pool_->uncharge(last.size, Use::scratch);
  }
}

Status over_budget(size_t size, const Pool& pool, std::string_view what) {
  const Pool::Ledger ledger = pool.ledger();
  std::string text = std::string(what) + ": needs " + std::to_string(size) +
                     " bytes, but the memory budget is " + budget_text(size, ledger);
  return {Code::exhausted, std::move(text)};
}

}  // namespace headrace
