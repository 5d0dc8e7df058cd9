#include "headrace/formats/dataset/written_shards.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "headrace/formats/dataset/manifest.h"

namespace headrace {
namespace {

constexpr uint64_t kMostBytesOfManifests = uint64_t{64} << 20;  // bytes
constexpr int kMostDeep = 12;                                   // levels of folders in a shard: Zarr, images

// Reads each manifest once.
class Manifests {
 public:
  explicit Manifests(Store& store) : store_(store) {}
  const Manifest* at(const std::string& path) {
    auto known = by_path_.find(path);
    if (known == by_path_.end()) known = by_path_.emplace(path, read_manifest(store_, path, left_)).first;
    return known->second.ok() ? &(*known->second)->manifest : nullptr;
  }

 private:
  Store& store_;
  uint64_t left_ = kMostBytesOfManifests;
  std::map<std::string, Result<ReadManifestPtr>> by_path_;
};

struct Spot {
  const Manifest* manifest = nullptr;
  const ShardEntry* shard = nullptr;
  std::string path;  // of the shard
};

std::string folder_around(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// The shard that a file is, or is part of.
std::optional<Spot> spot_of(Manifests& manifests, const std::string& file, bool is_alone) {
  if (is_alone)
    if (const Manifest* own = manifests.at(file + "." + std::string(kManifestName));
        own && own->shards.size() == 1)
      return Spot{own, &own->shards[0], file};
  std::string below = file;
  for (int i = 0; i < kMostDeep && !below.empty(); ++i) {
    const std::string folder = folder_around(below);
    const std::string prefix = folder.empty() && !below.starts_with('/') ? "" : folder + "/";
    const Manifest* manifest = manifests.at(prefix + std::string(kManifestName));
    if (manifest) {
      const auto shard = std::ranges::find(manifest->shards, below.substr(prefix.size()), &ShardEntry::name);
      if (shard != manifest->shards.end()) return Spot{manifest, &*shard, below};
      if (manifest->shards.size() == 1) return Spot{manifest, &manifest->shards[0], folder};
      return std::nullopt;
    }
    below = folder;
  }
  return std::nullopt;
}

bool is_read_as_written(const Source& source, const Manifest& manifest) {
  const Value description = source.describe();
  size_t options = 0;
  const Value::Object* wanted = manifest.read_with.object();
  for (const auto& [key, value] : *description.object()) {
    if (key == "path") continue;
    if (key == "format") {
      if (!value.text() || *value.text() != manifest.format) return false;
      continue;
    }
    const Value* usual = manifest.read_with.find(key);
    if (!usual || !(*usual == value)) return false;
    ++options;
  }
  return options == (wanted ? wanted->size() : 0);
}

}  // namespace

std::vector<WrittenShard> written_shards(Store& store, const Source& source) {
  Manifests manifests(store);
  std::vector<WrittenShard> out;
  std::set<const ShardEntry*> seen;
  const ShardEntry* last = nullptr;
  uint64_t samples = 0;
  for (uint64_t i = 0; i < source.num_files(); ++i) {
    const std::string path = source.file(i);
    if (path.substr(path.rfind('/') + 1) == kManifestName) continue;  // in the listing of a folder
    const auto spot = spot_of(manifests, path, source.num_files() == 1);
    if (!spot) return {};
    if (spot->shard == last) continue;
    if (!seen.insert(spot->shard).second || !is_read_as_written(source, *spot->manifest)) return {};
    last = spot->shard;
    samples += last->samples;
    out.push_back({spot->path, last->samples, last->sum});
  }
  return samples == source.size() ? out : std::vector<WrittenShard>();
}

}  // namespace headrace
