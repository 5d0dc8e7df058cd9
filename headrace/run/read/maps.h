// The memory maps of the files that a run accesses, and the limit on how much of them is in its memory.
//
// Accessed pages stay in the memory of the process until they are unmapped, and unmapping each record alone
// costs as much as copying it. So maps are used until a share of the budget is in them, then all are replaced
// by new ones; an old map ends with the last use of its bytes. Maps of files within the limit stay: from the
// second epoch on no page needs to be mapped again. All methods may be called from several threads.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "headrace/formats/source.h"
#include "headrace/io/file_map.h"
#include "headrace/io/store.h"

namespace headrace {

// Bytes of a map that were used.
struct Mapped {
  std::shared_ptr<const FileMap> map;
  uint64_t offset = 0, length = 0;
};
bool are_intact(std::span<const Mapped> all);

// Extents of these lengths are accessed in a map. For shorter ones a read is cheaper.
struct LengthRange {
  uint64_t least, most;
  bool has(uint64_t length) const { return length >= least && length <= most; }
};
inline constexpr LengthRange kMappable{kLeastMapped, 16 << 20};

class Maps {
 public:
  explicit Maps(uint64_t budget);  // the memory budget of the run
  // The map of a file, for large extents; replaces the current maps if they are full. Null if there is none.
  std::shared_ptr<const FileMap> of(const std::shared_ptr<OpenFile>& file);
  // The same for small extents, within the remaining room: null if there is no room for another file.
  std::shared_ptr<const FileMap> beside(const std::shared_ptr<OpenFile>& file);
  // Whether more pages of maps may come into memory for small extents.
  bool has_room() const;

  static constexpr size_t kMostFiles = 64;

 private:
  struct One {
    std::shared_ptr<OpenFile> file;
    std::shared_ptr<const FileMap> map;  // null: it has no map
  };
  using Round = std::vector<One>;  // maps that are replaced together
  uint64_t in_memory() const;      // bytes of the current round. REQUIRES: mutex_ is held
  const uint64_t most_in_memory_;
  mutable std::mutex mutex_;
  Round round_;                                                // this and the next: guarded by mutex_
  std::deque<std::vector<std::weak_ptr<const FileMap>>> old_;  // of earlier rounds
};

}  // namespace headrace
