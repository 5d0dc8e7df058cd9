#include "headrace/run/read/maps.h"

#include <algorithm>
#include <utility>

namespace headrace {
namespace {

// Bytes brought into memory until maps are replaced. Pages of the page cache are shared and evictable, but
// count in the reported memory of the process: so a small share of the budget.
constexpr uint64_t kLeastInMemory = uint64_t{32} << 20, kMostInMemory = uint64_t{2} << 30, kShare = 8;
constexpr size_t kRounds = 4;  // of maps, after which pages that are still held are dropped

}  // namespace

bool are_intact(std::span<const Mapped> all) {
  IntactOnes ones;
  for (const Mapped& m : all) ones.add(m.map->bytes(m.offset, m.length));
  return ones.are_intact();
}

Maps::Maps(uint64_t budget) : most_in_memory_(std::clamp(budget / kShare, kLeastInMemory, kMostInMemory)) {}

std::shared_ptr<const FileMap> Maps::of(const std::shared_ptr<OpenFile>& file) {
  Round given_up;
  std::vector<std::weak_ptr<const FileMap>> oldest;
  std::shared_ptr<const FileMap> map;
  {
    std::lock_guard lock(mutex_);
    auto at = std::ranges::find(round_, file, &One::file);
    if (in_memory() > most_in_memory_ || (at == round_.end() && round_.size() == kMostFiles)) {
      given_up.swap(round_);
      auto& old = old_.emplace_back();
      for (const One& one : given_up)
        if (one.map) old.push_back(one.map);
      if (old_.size() > kRounds) oldest = std::move(old_.front()), old_.pop_front();
      at = round_.end();
    }
    if (at == round_.end()) at = round_.insert(at, {file, file->map()});
    map = at->map;
  }
  // Bytes of these that are still in use are few, or are held for a long time.
  for (const auto& old : oldest)
    if (const auto held = old.lock()) held->drop_pages();
  return map;
}

std::shared_ptr<const FileMap> Maps::beside(const std::shared_ptr<OpenFile>& file) {
  std::lock_guard lock(mutex_);
  auto at = std::ranges::find(round_, file, &One::file);
  if (at == round_.end()) {
    // Remove those of files that are not open any more.
    if (round_.size() == kMostFiles)
      std::erase_if(round_, [](const One& one) { return one.file.use_count() == 1; });
    if (round_.size() == kMostFiles || in_memory() >= most_in_memory_) return nullptr;
    at = round_.insert(round_.end(), {file, file->map()});
  }
  return at->map;
}

bool Maps::has_room() const {
  std::lock_guard lock(mutex_);
  return in_memory() + FileMap::kRegion <= most_in_memory_;
}

uint64_t Maps::in_memory() const {
  uint64_t out = 0;
  for (const One& one : round_)
    if (one.map) out += one.map->in_memory();
  return out;
}

}  // namespace headrace
