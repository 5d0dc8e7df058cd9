#include "headrace/formats/point_index.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace headrace {
namespace {

static_assert(std::endian::native == std::endian::little, "entries are written as they lie in memory");

constexpr std::string_view kFiles = "files", kPoints = "points";
constexpr uint32_t kMostPoints = 1 << 22;  // of a file: one for each MCU of the largest image

PointStore::FileKey key_of(std::span<const std::byte> file) {
  const XXH128_hash_t hash = XXH3_128bits(file.data(), file.size());
  return {hash.low64, hash.high64};
}

uint64_t checksum(std::span<const EntropyPoint> points) {
  return XXH3_64bits(points.data(), points.size_bytes());
}

}  // namespace

// As it lies in the section "files", sorted by key.
struct PointIndex::FileEntry {
  FileKey key;
  uint64_t first;  // of the section "points"
  uint32_t count, step;
  uint64_t checksum;
};

PointIndex::PointIndex(std::string source, std::optional<int64_t> step, size_t memory)
    : key_("entropy points " + std::move(source)), step_(step), most_bytes_(memory) {
  open();
}

// What makes no sense is no index.
void PointIndex::open() {
  static_assert(sizeof(FileEntry) == 40);
  file_ = open_sidecar(key_);
  if (!file_) return;
  auto files = file_->section(kFiles);
  if (!files.ok() || (*files)->size() % sizeof(FileEntry) != 0) return file_.reset();
  table_ = *std::move(files);
  const auto by_key = [](const FileEntry& a, const FileEntry& b) { return a.key < b.key; };
  if (std::is_sorted(table().begin(), table().end(), by_key)) return;
  file_.reset(), table_.reset();
}

std::span<const PointIndex::FileEntry> PointIndex::table() const {
  if (!table_) return {};
  return {reinterpret_cast<const FileEntry*>(table_->data()), table_->size() / sizeof(FileEntry)};
}

const PointIndex::FileEntry* PointIndex::find_entry(const FileKey& key) const {
  const auto files = table();
  const auto at = std::lower_bound(files.begin(), files.end(), key,
                                   [](const FileEntry& entry, const FileKey& k) { return entry.key < k; });
  return at != files.end() && at->key == key ? &*at : nullptr;
}

std::optional<EntropyPoints> PointIndex::read(SidecarFile& file, const FileEntry& entry) {
  if (entry.count == 0 || entry.count > kMostPoints ||
      entry.first > file.size(kPoints) / sizeof(EntropyPoint))
    return std::nullopt;
  EntropyPoints out{entry.step, std::vector<EntropyPoint>(entry.count)};
  const auto bytes = std::as_writable_bytes(std::span(out.points));
  if (!file.read(kPoints, entry.first * sizeof(EntropyPoint), bytes).ok()) return std::nullopt;
  if (checksum(out.points) != entry.checksum) return std::nullopt;
  return out;
}

PointStore::Known PointIndex::find(std::span<const std::byte> file) {
  Known known{key_of(file), {}};
  std::shared_ptr<const EntropyPoints> found;
  std::optional<FileEntry> entry;
  std::shared_ptr<SidecarFile> from;
  {
    std::lock_guard lock(mutex_);
    if (const auto at = found_.find(known.key); at != found_.end())
      found = at->second;
    else if (const FileEntry* there = find_entry(known.key))
      entry = *there, from = file_;
  }
  if (found)
    known.points = *found;
  else if (entry)
    known.points = read(*from, *entry).value_or(EntropyPoints{});
  return known;
}

std::optional<int64_t> PointIndex::wanted_step() const {
  return bytes_.load(std::memory_order_relaxed) < most_bytes_ ? step_ : std::nullopt;
}

void PointIndex::keep(const FileKey& key, EntropyPoints points) {
  const size_t size = points.points.size() * sizeof(EntropyPoint) + sizeof(FileEntry);
  auto kept = std::make_shared<const EntropyPoints>(std::move(points));
  std::lock_guard lock(mutex_);
  auto& place = found_[key];
  if (place && place->points.size() >= kept->points.size()) return;
  bytes_ += size - (place ? place->points.size() * sizeof(EntropyPoint) + sizeof(FileEntry) : 0);
  place = std::move(kept);
}

size_t PointIndex::files() const {
  std::lock_guard lock(mutex_);
  size_t known = table().size();
  for (const auto& [key, points] : found_) known += find_entry(key) == nullptr;
  return known;
}

size_t PointIndex::found() const {
  std::lock_guard lock(mutex_);
  return found_.size();
}

Status PointIndex::save() {
  std::lock_guard lock(mutex_);
  if (found_.empty()) return {};
  std::vector<FileEntry> files;
  std::vector<EntropyPoint> all;
  const auto add = [&](const FileKey& key, const EntropyPoints& points) {
    files.push_back({key, all.size(), static_cast<uint32_t>(points.points.size()),
                     static_cast<uint32_t>(points.step), checksum(points.points)});
    all.insert(all.end(), points.points.begin(), points.points.end());
  };
  for (const FileEntry& entry : table())
    if (!found_.contains(entry.key))
      if (const auto points = read(*file_, entry)) add(entry.key, *points);
  for (const auto& [key, points] : found_) add(key, *points);
  std::sort(files.begin(), files.end(), [](const FileEntry& a, const FileEntry& b) { return a.key < b.key; });
  Sidecar sidecar;
  sidecar.sections = {{std::string(kFiles), std::as_bytes(std::span(files))},
                      {std::string(kPoints), std::as_bytes(std::span(all))}};
  HEADRACE_TRY(store_sidecar(key_, sidecar));
  found_.clear(), bytes_ = 0;
  file_.reset(), table_.reset();
  open();
  return {};
}

}  // namespace headrace
