// The entropy points of a data set's JPEG files (codecs/entropy_points.h), in a sidecar from run to run.
//
// Files are known by a hash of their content, so an index is never stale: a file that changed is a file that
// is not known. The points themselves stay on disk until they are wanted, each file's with a checksum; what
// is found during a run is held in memory, up to a limit, until save(). Any thread may call any method, also
// while another saves.
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
  // Which points stay when both are of one file.
  enum class Prefer : uint8_t { more, found };
  struct Options {
    std::optional<int64_t> step = std::nullopt;  // of the points to be found
    size_t memory = 0;                           // bytes of points found, from which on no more are wanted
    uint64_t most_files = ~uint64_t{0};  // the same of files in the sidecar: data may never be the same twice
    Prefer prefer = Prefer::more;
    bool beside = false;  // save() writes beside the data, if it is one source that has a folder
  };
  struct Data {
    std::string fingerprint;
    std::string folder = {};  // beside which points may lie; "" when there is none
  };
  // An index made for one of several sources is read as well, and what lies beside the data.
  PointIndex(const std::vector<Data>& sources, Options options);

  Known find(std::span<const std::byte> file) override;
  std::optional<int64_t> wanted_step() const override;
  void keep(const FileKey& key, EntropyPoints points) override;

  size_t files() const;  // in the sidecar
  size_t found() const;  // files since the last save()
  bool is_full() const { return bytes_.load(std::memory_order_relaxed) >= options_.memory; }  // until then
  size_t found_bytes() const;  // the memory these take
  std::string path() const;    // of the sidecar; empty when this user has no folder for it

  // Writes what is known to the sidecar, with what other processes have written there, and forgets what was
  // found. Nothing is lost when it fails, or is given up because the flag is raised.
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
  std::vector<std::shared_ptr<const Stored>> beside_;  // the data: anybody's, so never carried into another
  std::atomic<size_t> bytes_ = 0;
  std::atomic<bool> is_full_ = false;

  std::mutex saving_;         // held by the one who saves
  mutable std::mutex mutex_;  // guards the next ones; what they point to does not change
  std::shared_ptr<const Stored> stored_;
  Found found_;
};

}  // namespace headrace
