// The entropy points of a data set's JPEG files (codecs/entropy_points.h), stored in a sidecar between runs.
//
// Files are identified by a hash of their content, so an index is never stale: a changed file is an unknown
// file. Stored points are read from disk on demand, each file's with a checksum; points found during a run
// are held in memory, up to a limit, until save(). Any thread may call any method, even while another one
// saves.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "headrace/codecs/entropy_points.h"
#include "headrace/core/status.h"
#include "headrace/formats/index/sidecar.h"

namespace headrace {

class PointIndex final : public PointStore {
 public:
  // Which points are kept if two sets are of one file.
  enum class Prefer : uint8_t { more, found };
  struct Options {
    std::optional<int64_t> step = std::nullopt;  // of the points to be found
    size_t memory = 0;                           // bytes of found points after which no more are collected
    uint64_t most_files = ~uint64_t{0};  // files in the sidecar after which no more are collected, as data
                                         // may never be the same twice
    Prefer prefer = Prefer::more;
    bool beside = false;  // save() writes next to the data, if it is a single source with a folder
  };
  struct Data {
    std::string fingerprint;
    std::string folder = {};  // next to which points may be stored; "" if there is none
  };
  // Also reads the indexes of each single source, and those next to the data.
  PointIndex(const std::vector<Data>& sources, Options options);

  Known find(std::span<const std::byte> file) override;
  std::optional<int64_t> wanted_step() const override;
  void keep(const FileKey& key, EntropyPoints points) override;

  size_t files() const;  // in the sidecar
  size_t found() const;  // files since the last save()
  bool is_full() const { return bytes_.load(std::memory_order_relaxed) >= options_.memory; }  // until save()
  size_t found_bytes() const;  // memory of the found points
  std::string path() const;    // of the sidecar; empty if this user has no folder for it

  // Merges the found points into the sidecar, with those that other processes have written there, and drops
  // them from memory. Nothing is lost if it fails, or is aborted because the flag is raised.
  Status save(const StopFlag* stop = nullptr);

 private:
  struct KeyHash {
    size_t operator()(const FileKey& key) const { return static_cast<size_t>(key[0]); }
  };
  struct FileEntry;
  class Stored;
  using Found = std::unordered_map<FileKey, std::shared_ptr<const EntropyPoints>, KeyHash>;
  bool replaces(const EntropyPoints& found, size_t points) const;
  Status write(const Found& found, const Stored* stored, const StopFlag* stop) const;

  const SidecarPlace place_;
  const Options options_;
  std::vector<std::shared_ptr<const Stored>> others_;  // of single sources; never written
  std::vector<std::shared_ptr<const Stored>> beside_;  // next to the data: not trusted, never copied
  std::atomic<size_t> bytes_ = 0;
  std::atomic<bool> is_full_ = false;

  std::mutex saving_;         // held while saving
  mutable std::mutex mutex_;  // guards the next two; the objects they point to are immutable
  std::shared_ptr<const Stored> stored_;
  Found found_;
};

}  // namespace headrace
