// The maps of the files that a run looks into, and the bound on how much of them is in its memory.
//
// Pages that were looked at stay in a process's memory until they are unmapped, and to unmap each record
// alone costs as much as to copy it. So maps serve until a share of the budget lies in them, then all are
// given up for new ones; the old go with the last of their bytes. Files that are smaller keep theirs: from
// the second epoch on nothing needs to be looked at again. All methods may be called from several threads.
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

// Bytes of a map that somebody looked at.
struct Mapped {
  std::shared_ptr<const FileMap> map;
  uint64_t offset = 0, length = 0;
};
bool are_intact(std::span<const Mapped> all);

// Extents of these lengths are looked at in a map. Shorter ones cost more that way than a read.
struct LengthRange {
  uint64_t least, most;
  bool has(uint64_t length) const { return length >= least && length <= most; }
};
inline constexpr LengthRange kMappable{kLeastMapped, 16 << 20};

class Maps {
 public:
  explicit Maps(uint64_t budget);  // of the run's memory
  // The map of a file, for large bytes, which make place for themselves. Null where there is none.
  std::shared_ptr<const FileMap> of(const std::shared_ptr<OpenFile>& file);
  // The same for small ones, which take the place that is left: null where none is for another file.
  std::shared_ptr<const FileMap> beside(const std::shared_ptr<OpenFile>& file);
  // Whether some more of a map may come into memory for small ones.
  bool has_room() const;

  static constexpr size_t kMostFiles = 64;

 private:
  struct One {
    std::shared_ptr<OpenFile> file;
    std::shared_ptr<const FileMap> map;  // null: has none
  };
  using Round = std::vector<One>;  // maps that are given up together
  uint64_t in_memory() const;      // of the round's. REQUIRES: mutex_ is held
  const uint64_t most_in_memory_;
  mutable std::mutex mutex_;
  Round round_;                                                // this and what follows: guarded by mutex_
  std::deque<std::vector<std::weak_ptr<const FileMap>>> old_;  // of the rounds before
};

}  // namespace headrace
