// The indexes of many record files: made by several threads, and remembered a file at a time.
//
// What was found of a file lies in a sidecar of its own (sidecar.h) under the format's kind of index and the
// file's path, in the user's cache folder or beside the file. It holds while the file's size, its mtime and a
// sample of its bytes are what they were. Files that take less than a millisecond keep none, and files of a
// store that is not persistent neither. Processes that begin at once over much data wait for the first of
// them and then read what it made. Any thread may call it.
#pragma once
#include <vector>

#include "headrace/formats/damaged.h"
#include "headrace/formats/format.h"
#include "headrace/formats/index/indexing.h"

namespace headrace {

struct RecordIndexes {
  std::vector<FileIndex> of_files;   // one for each, in their order; empty of those that are refused
  std::vector<RefusedFile> refused;  // damaged, in their order
};
// The error that a file of these is.
Status refusal(const RecordOpening& records, const RefusedFile& file);
// An error that is no damage is that of the first file that has one, and names it; so is the first damage
// where no file is whole, or more than kMostRefusedFiles are not.
Result<RecordIndexes> record_indexes(const RecordOpening& records, Store& store,
                                     const IndexingOptions& options);
inline constexpr size_t kMostRefusedFiles = 1000;

// What a sidecar of these holds of the file it was made for.
struct FileStamp {
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  uint64_t sample =
      0;  // xxh3 of the first, middle and last bytes, and of sizes and times of what lies beside
  bool operator==(const FileStamp&) const = default;
};

}  // namespace headrace
