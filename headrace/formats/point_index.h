// The entropy points of a data set's JPEG files (codecs/entropy_points.h), in a sidecar from run to run.
//
// Files are known by a hash of their content, so an index is never stale: a file that changed is a file that
// is not known. The points themselves stay on disk until they are wanted, each file's with a checksum; what
// is found during a run is held in memory, up to a limit, until save().
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "headrace/codecs/entropy_points.h"
#include "headrace/core/status.h"
#include "headrace/formats/sidecar.h"

namespace headrace {

class PointIndex final : public PointStore {
 public:
  // `source`: the fingerprint of the data. Points are found and kept with `step` while they take less than
  // `memory` bytes.
  PointIndex(std::string source, std::optional<int64_t> step, size_t memory);

  Known find(std::span<const std::byte> file) override;
  std::optional<int64_t> wanted_step() const override;
  void keep(const FileKey& key, EntropyPoints points) override;

  size_t files() const;  // whose points are known
  size_t found() const;  // of these, since the last save()
  // Writes what is known to the sidecar, and forgets what was found. Nothing is lost when it fails.
  Status save();

 private:
  struct KeyHash {
    size_t operator()(const FileKey& key) const { return static_cast<size_t>(key[0]); }
  };
  struct FileEntry;
  std::span<const FileEntry> table() const;
  const FileEntry* find_entry(const FileKey& key) const;
  static std::optional<EntropyPoints> read(SidecarFile& file, const FileEntry& entry);
  void open();

  const std::string key_;
  const std::optional<int64_t> step_;
  const size_t most_bytes_;
  std::atomic<size_t> bytes_ = 0;

  mutable std::mutex mutex_;  // guards the next ones; what they point to does not change
  std::shared_ptr<SidecarFile> file_;
  BufferPtr table_;
  std::unordered_map<FileKey, std::shared_ptr<const EntropyPoints>, KeyHash> found_;
};

}  // namespace headrace
