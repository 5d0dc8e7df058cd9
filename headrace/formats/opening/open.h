// Open data by path: look at it, find its format, feed the format's Opening from a Store.
//
// For callers that may wait (opening a dataset, the command line, tests); a run fetches blocks through its
// own loop. The functions may be called from several threads at once.
#pragma once
#include "headrace/formats/format.h"
#include "headrace/formats/index/indexing.h"

namespace headrace {

// The data at `path`: a file, a folder, or a pattern (patterns.h) of files that are one data set. A folder
// that no format knows as such is one of shards (shards.h). An empty `format` is recognised by content.
// Unknown options are errors that list the known ones. `indexing` is for formats whose files are walked once.
Result<SourcePtr> open_source(Store& store, const std::string& path, std::string_view format = {},
                              const Value& options = {}, const IndexingOptions& indexing = {});
// Several paths or patterns as one source, in their order; a file named twice counts once.
Result<SourcePtr> open_source(Store& store, const std::vector<std::string>& paths,
                              std::string_view format = {}, const Value& options = {},
                              const IndexingOptions& indexing = {});

// What Source::describe() wrote, opened again. Arrays cannot be: the error names their slot.
Result<SourcePtr> open_described(Store& store, const Value& description,
                                 const IndexingOptions& indexing = {});

// What a message says of a format that there is not: which was meant, perhaps, and which there are.
std::string no_format(std::string_view wrong);

// The bytes of extents, on the heap. Errors name the file.
Result<std::vector<BufferPtr>> read_extents(std::span<const Extent> extents, const FilePaths& files,
                                            Store& store);

// Feed an opening until it answers.
template <class T> Result<T> drive(Opening<T>& opening, const FilePaths& files, Store& store) {
  std::vector<BufferPtr> bytes;
  while (true) {
    HEADRACE_ASSIGN(Step<T> step, opening.advance(bytes));
    if (auto* value = std::get_if<T>(&step)) return std::move(*value);
    bytes.clear();  // before the next are read: an opening keeps what it still wants
    HEADRACE_ASSIGN(bytes, read_extents(*std::get_if<std::vector<Extent>>(&step), files, store));
  }
}
inline Result<BlockPtr> drive_block(const Source& source, uint64_t block, Store& store) {
  return drive(*source.open(block), [&](uint64_t ordinal) { return source.file(ordinal); }, store);
}

// One sample, read now: for looking at data, and for tests.
Result<std::vector<Tensor>> read_sample(const Source& source, uint64_t index, Store& store);

}  // namespace headrace
