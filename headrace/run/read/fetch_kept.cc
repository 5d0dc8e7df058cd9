// The block cache of a Fetcher.
#include <algorithm>

#include "headrace/run/read/fetch.h"

namespace headrace {
namespace {

constexpr size_t kMostKept = 256;  // blocks, when alternating between many sources: the last of each
constexpr size_t kMostLookedThrough = 64, kMostKnown = 4096;
constexpr size_t kBesideKept = 704;  // bytes of overhead for a cached block, approximately

}  // namespace

Fetcher::KeptAt Fetcher::where_kept(const Source& source, uint64_t block, bool mapped) {
  if (keeps_ > kMostLookedThrough) {
    const auto known = kept_at_.find({&source, block, mapped});
    return known == kept_at_.end() ? kept_.end() : known->second;
  }
  return std::ranges::find_if(kept_, [&](const Kept& one) {
    return one.source == &source && one.block == block && one.mapped.empty() != mapped;
  });
}

void Fetcher::add_kept(Kept kept) {
  const bool mapped = !kept.mapped.empty();
  if (const KeptAt known = where_kept(*kept.source, kept.block, mapped); known != kept_.end())
    drop_kept(known);
  if (!pool_->charge(kBesideKept, Use::encoded)) return;
  ++num_kept_[kept.source];
  kept_.push_front(std::move(kept));
  if (keeps_ > kMostLookedThrough)
    kept_at_[{kept_.front().source, kept_.front().block, mapped}] = kept_.begin();
}

void Fetcher::drop_kept(KeptAt at) {
  kept_at_.erase({at->source, at->block, !at->mapped.empty()});
  if (--num_kept_[at->source] == 0) num_kept_.erase(at->source);
  kept_.erase(at);
  pool_->uncharge(kBesideKept, Use::encoded);
}

BlockPtr Fetcher::find_kept(const Source& source, uint64_t block, std::vector<Mapped>* seen) {
  KeptAt at = where_kept(source, block, false);
  if (at == kept_.end() && seen) at = where_kept(source, block, true);
  if (at == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, at);
  if (seen) seen->insert(seen->end(), at->mapped.begin(), at->mapped.end());
  return at->value;
}

void Fetcher::keep(size_t blocks) {
  std::lock_guard lock(mutex_);
  keeps_ = std::max(keeps_, blocks), jumps_ = jumps_ || blocks > 0;
  kept_at_.clear();
  for (auto at = kept_.begin(); keeps_ > kMostLookedThrough && at != kept_.end(); ++at)
    kept_at_[{at->source, at->block, !at->mapped.empty()}] = at;
}

void Fetcher::note_dropped(const Kept& one) {
  if (dropped_.size() > kMostKnown) dropped_.clear();
  dropped_.emplace(one.source, one.block);
}

// Drops the oldest block that is not the last of its source. `is_wanted`: it may be needed again.
void Fetcher::drop_one_kept(bool is_wanted) {
  for (size_t left = kept_.size(); left > 0; --left) {
    const KeptAt oldest = std::prev(kept_.end());
    if (num_kept_[oldest->source] > 1) {
      if (is_wanted) note_dropped(*oldest);
      return drop_kept(oldest);
    }
    kept_.splice(kept_.begin(), kept_,
                 oldest);  // it stays, and moves to the front so that the search does not find it again
  }
  if (kept_.size() > std::max(keeps_, kMostKept)) drop_kept(std::prev(kept_.end()));
}

Fetcher::~Fetcher() { pool_->uncharge(kept_.size() * kBesideKept, Use::encoded); }

bool Fetcher::forget() {
  std::list<Kept> given_up;
  std::lock_guard lock(mutex_);
  given_up.swap(kept_);
  kept_at_.clear(), num_kept_.clear();
  pool_->uncharge(given_up.size() * kBesideKept, Use::encoded);
  for (const Kept& one : given_up)
    if (jumps_) note_dropped(one);
  return !given_up.empty();
}

}  // namespace headrace
