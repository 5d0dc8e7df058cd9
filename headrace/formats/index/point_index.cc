#include "headrace/formats/index/point_index.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>

#include "headrace/core/stop_flag.h"
#include "headrace/core/value.h"

namespace headrace {
namespace {

static_assert(std::endian::native == std::endian::little, "entries are stored in native byte order");

constexpr std::string_view kFiles = "files", kPoints = "points";
constexpr uint32_t kMostPoints = 1 << 22;  // per file: one for each MCU of the largest image
constexpr size_t kFoundBytes = 128;        // memory per file, in addition to its points
constexpr size_t kPiece = (size_t{1} << 20) / sizeof(EntropyPoint);  // points per write

PointStore::FileKey key_of(std::span<const std::byte> file) {
  const XXH128_hash_t hash = XXH3_128bits(file.data(), file.size());
  return {hash.low64, hash.high64};
}

uint64_t checksum(std::span<const EntropyPoint> points) {
  return XXH3_64bits(points.data(), points.size_bytes());
}

SidecarPlace in_cache(const std::vector<PointIndex::Data>& sources) {
  std::string key = "entropy points ";
  for (const PointIndex::Data& source : sources) key += source.fingerprint + "\n";
  return key;
}

// Named after the data, as a folder may hold several data sets.
std::optional<SidecarPlace> beside(const PointIndex::Data& source) {
  if (source.folder.empty()) return std::nullopt;
  return SidecarPlace::beside(source.folder, "points-" + hash_text(source.fingerprint));
}

SidecarPlace place_of(const std::vector<PointIndex::Data>& sources, bool beside_data) {
  const auto place = beside_data && sources.size() == 1 ? beside(sources[0]) : std::nullopt;
  return place.value_or(in_cache(sources));
}

size_t memory_of(const EntropyPoints& points) {
  return points.points.size() * sizeof(EntropyPoint) + kFoundBytes;
}

}  // namespace

// The layout in the section "files", sorted by key.
struct PointIndex::FileEntry {
  FileKey key;
  uint64_t first;  // of the section "points"
  uint32_t count, step;
  uint64_t checksum;
};

// A sidecar that was opened: if it is replaced later, this still reads the opened one.
class PointIndex::Stored {
 public:
  // Null if there is none, or it is invalid.
  static std::shared_ptr<const Stored> open(const SidecarPlace& place) {
    static_assert(sizeof(FileEntry) == 40);
    std::unique_ptr<SidecarFile> file = open_sidecar(place);
    if (!file) return nullptr;
    auto table = file->section(kFiles);
    if (!table.ok() || (*table)->size() % sizeof(FileEntry) != 0) return nullptr;
    auto out = std::make_shared<Stored>(std::move(file), *std::move(table));
    const auto is_out_of_order = [](const FileEntry& a, const FileEntry& b) { return a.key >= b.key; };
    const auto files = out->files();
    return std::ranges::adjacent_find(files, is_out_of_order) == files.end() ? out : nullptr;
  }

  Stored(std::unique_ptr<SidecarFile> file, BufferPtr table)
      : file_(std::move(file)), table_(std::move(table)) {}

  std::span<const FileEntry> files() const {
    return {reinterpret_cast<const FileEntry*>(table_->data()), table_->size() / sizeof(FileEntry)};
  }
  const FileEntry* find(const FileKey& key) const {
    const auto all = files();
    const auto at = std::ranges::lower_bound(all, key, {}, &FileEntry::key);
    return at != all.end() && at->key == key ? &*at : nullptr;
  }
  std::optional<EntropyPoints> read(const FileEntry& entry) const {
    const uint64_t there = file_->size(kPoints) / sizeof(EntropyPoint);
    if (entry.count == 0 || entry.count > kMostPoints || entry.first > there ||
        entry.count > there - entry.first)
      return std::nullopt;
    EntropyPoints out{entry.step, std::vector<EntropyPoint>(entry.count)};
    const auto bytes = std::as_writable_bytes(std::span(out.points));
    if (!file_->read(kPoints, entry.first * sizeof(EntropyPoint), bytes).ok()) return std::nullopt;
    if (headrace::checksum(out.points) != entry.checksum) return std::nullopt;
    return out;
  }

 private:
  std::unique_ptr<SidecarFile> file_;
  BufferPtr table_;
};

PointIndex::PointIndex(const std::vector<Data>& sources, Options options)
    : place_(place_of(sources, options.beside)), options_(options), stored_(Stored::open(place_)) {
  const auto add = [&](const SidecarPlace& place, std::vector<std::shared_ptr<const Stored>>& to) {
    if (place.path() == place_.path()) return;
    if (auto other = Stored::open(place)) to.push_back(std::move(other));
  };
  // An index next to the data must be complete by itself, so it is not completed from others.
  for (const Data& source : options_.beside ? std::vector<Data>() : sources) {
    if (const auto place = beside(source)) add(*place, beside_);
    add(in_cache({source}), others_);
  }
  is_full_ = files() >= options_.most_files;
}

PointStore::Known PointIndex::find(std::span<const std::byte> file) {
  Known known{key_of(file), {}};
  std::shared_ptr<const EntropyPoints> found;
  std::shared_ptr<const Stored> stored;
  {
    std::lock_guard lock(mutex_);
    if (const auto at = found_.find(known.key); at != found_.end()) found = at->second;
    stored = stored_;
  }
  const auto look = [&](const Stored& in) {
    const FileEntry* entry = in.find(known.key);
    if (auto points = entry ? in.read(*entry) : std::nullopt) known.points = *std::move(points);
  };
  if (found) return {known.key, *found};
  if (stored) look(*stored);
  for (size_t i = 0; known.points.points.empty() && i < others_.size(); ++i) look(*others_[i]);
  if (!known.points.points.empty()) return known;
  for (size_t i = 0; known.points.points.empty() && i < beside_.size(); ++i) look(*beside_[i]);
  known.may_be_kept = known.points.points.empty();
  return known;
}

std::optional<int64_t> PointIndex::wanted_step() const {
  const bool has_room = bytes_.load(std::memory_order_relaxed) < options_.memory && !is_full_;
  return has_room ? options_.step : std::nullopt;
}

void PointIndex::keep(const FileKey& key, EntropyPoints points) {
  auto kept = std::make_shared<const EntropyPoints>(std::move(points));
  std::lock_guard lock(mutex_);
  auto& place = found_[key];
  if (place && !replaces(*kept, place->points.size())) return;
  bytes_ += memory_of(*kept) - (place ? memory_of(*place) : 0);
  place = std::move(kept);
}

// Whether `found` replaces that many points of the same file.
bool PointIndex::replaces(const EntropyPoints& found, size_t points) const {
  return options_.prefer == Prefer::found || found.points.size() > points;
}

size_t PointIndex::files() const {
  std::lock_guard lock(mutex_);
  return stored_ ? stored_->files().size() : 0;
}

size_t PointIndex::found() const {
  std::lock_guard lock(mutex_);
  return found_.size();
}

size_t PointIndex::found_bytes() const { return bytes_; }

std::string PointIndex::path() const { return place_.path(); }

Status PointIndex::save(const StopFlag* stop) {
  std::lock_guard saving(saving_);
  Found found;
  {
    std::lock_guard lock(mutex_);
    found = found_;
  }
  if (found.empty()) return {};
  HEADRACE_ASSIGN(const SidecarLock held, SidecarLock::take(place_, stop));
  HEADRACE_TRY(write(found, Stored::open(place_).get(), stop));
  auto stored = Stored::open(place_);
  std::lock_guard lock(mutex_);
  stored_ = std::move(stored);
  is_full_ = stored_ && stored_->files().size() >= options_.most_files;
  for (const auto& [key, points] : found) {
    const auto at = found_.find(key);
    if (at->second != points) continue;  // replaced while saving
    bytes_ -= memory_of(*points);
    found_.erase(at);
  }
  return {};
}

// Merges found and stored points by key, without holding either of them in memory twice.
Status PointIndex::write(const Found& found, const Stored* stored, const StopFlag* stop) const {
  std::vector<FileEntry> files;
  const auto make_points = [&](const MadeSection::Write& out) -> Status {
    uint64_t count = 0;
    std::vector<EntropyPoint> piece;
    const auto flush = [&]() -> Status {
      if (stop && stop->raised()) return stopped();
      HEADRACE_TRY(out(std::as_bytes(std::span(piece))));
      piece.clear();
      return {};
    };
    const auto add = [&](const FileKey& key, const EntropyPoints& points) -> Status {
      files.push_back({key, count, static_cast<uint32_t>(points.points.size()),
                       static_cast<uint32_t>(points.step), checksum(points.points)});
      piece.insert(piece.end(), points.points.begin(), points.points.end());
      count += points.points.size();
      return piece.size() < kPiece ? Status() : flush();
    };
    for (const FileEntry& entry : stored ? stored->files() : std::span<const FileEntry>()) {
      const auto at = found.find(entry.key);
      if (at != found.end() && replaces(*at->second, entry.count)) continue;
      if (const auto points = stored->read(entry)) HEADRACE_TRY(add(entry.key, *points));
    }
    std::vector<FileKey> kept;  // those of the sidecar, in its sorted order
    for (const FileEntry& entry : files) kept.push_back(entry.key);
    for (const auto& [key, points] : found)
      if (!std::ranges::binary_search(kept, key)) HEADRACE_TRY(add(key, *points));
    return flush();
  };
  const auto make_files = [&](const MadeSection::Write& out) {
    std::ranges::sort(files, {}, &FileEntry::key);
    return out(std::as_bytes(std::span(files)));
  };
  const MadeSection sections[] = {{std::string(kPoints), make_points}, {std::string(kFiles), make_files}};
  return store_made_sidecar(place_, sections);
}

}  // namespace headrace
