// The indexes of many record files: made by several threads, and stored in one sidecar for all of them.
//
// An index is identified by the format's kind of index and the file's path, and is valid while the file's
// size and times are unchanged; of a file whose times alone have changed, while a sample of its bytes is.
// Every one is stored (list_memory.h), however quickly it was made, except those of a store that is not
// persistent. Processes that start at once wait for the first and read its indexes. Sidecars of single files,
// which earlier versions stored, are still read. Any thread may call it.
#pragma once
#include <vector>

#include "headrace/formats/damaged.h"
#include "headrace/formats/format.h"
#include "headrace/formats/index/indexing.h"

namespace headrace {

struct RecordIndexes {
  std::vector<FileIndex> of_files;   // one per file, in their order; empty for refused ones
  std::vector<RefusedFile> refused;  // damaged, in their order
  bool recalled = false;             // some were stored before
};
// The error of a refused file.
Status refusal(const RecordOpening& records, const RefusedFile& file);
// Returns the error of the first file that fails for another reason than damage, and names it; also the first
// damage if no file is good, or more than kMostRefusedFiles are damaged.
Result<RecordIndexes> record_indexes(const RecordOpening& records, Store& store,
                                     const IndexingOptions& options);
inline constexpr size_t kMostRefusedFiles = 1000;

// What the sidecar of a single file records of it.
struct FileStamp {
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  uint64_t sample =
      0;  // xxh3 of the first, middle and last bytes, and of the sizes and times of companion files
  bool operator==(const FileStamp&) const = default;
};

}  // namespace headrace
