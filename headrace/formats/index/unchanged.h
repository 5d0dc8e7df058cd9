// Files that an index of an earlier run describes, checked when they are opened: an index of many files is
// believed before they are looked at (index/list_memory.h), and each file pays for that with its first open.
// Any thread.
#pragma once
#include <memory>

#include "headrace/formats/source.h"
#include "headrace/io/store.h"

namespace headrace {

SourceFile source_file(std::string path, const FileInfo& info);

// Whether two looks saw the same file with the same contents: size and times. The time of
// its last change is not compared where a store does not know it.
bool is_same(const FileInfo& one, const FileInfo& other);
FileInfo info_of(const SourceFile& file);

// xxh3 of the first, middle and last bytes: the contents, as far as they are looked at to believe an index of
// a file that was copied, or whose mode or owner was changed.
Result<uint64_t> sample_of(OpenFile& file, uint64_t size);

// A file is another one than the index says that was believed: an error of the data set, not of a sample,
// which on_error leaves alone. An OSError with ESTALE.
Status stale(std::string text);
bool is_stale(const Status& failure);

// Opens a file of a source. One that is `recalled` and is another file by now is_stale(), and what was
// recalled is dropped: the next opening of the data looks at them anew.
Result<std::unique_ptr<OpenFile>> open_unchanged(Store& store, const SourceFile& file);

// The same of a source's file by ordinal, also where the source knows only its path.
Result<std::unique_ptr<OpenFile>> open_unchanged(Store& store, const Source& source, uint64_t ordinal);

}  // namespace headrace
