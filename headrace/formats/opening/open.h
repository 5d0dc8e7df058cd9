// Open data by path: probe it, find its format, drive the format's Opening with bytes from a Store.
//
// For callers that may block (opening a dataset, the command line, tests); a run fetches blocks through its
// own loop. The functions may be called from several threads at once.
#pragma once
#include "headrace/formats/format.h"
#include "headrace/formats/index/indexing.h"

namespace headrace {

// The data at `path`: a file, a folder, or a pattern (patterns.h) of files that are one data set. A folder
// that no format recognises is read as shards (shards.h). An empty `format` is detected from the content.
// Unknown options are errors that list the known ones. `indexing` is for formats whose files are scanned
// once.
Result<SourcePtr> open_source(Store& store, const std::string& path, std::string_view format = {},
                              const Value& options = {}, const IndexingOptions& indexing = {});
// Several paths or patterns as one source, in this order; a file named twice counts once.
Result<SourcePtr> open_source(Store& store, const std::vector<std::string>& paths,
                              std::string_view format = {}, const Value& options = {},
                              const IndexingOptions& indexing = {});

// The names that the option `split` takes for this path, sorted; none if it holds no splits.
Result<std::vector<std::string>> list_splits(Store& store, const std::string& path,
                                             std::string_view format = {});

// Reopens what Source::describe() wrote. Fails for arrays: the error names their slot.
Result<SourcePtr> open_described(Store& store, const Value& description,
                                 const IndexingOptions& indexing = {});

// The message for an unknown format: the closest name, if any, and the known formats.
std::string no_format(std::string_view wrong);

// The bytes of extents, on the heap. Errors name the file.
Result<std::vector<BufferPtr>> read_extents(std::span<const Extent> extents, const FilePaths& files,
                                            Store& store);

// Drive an opening until it returns its value.
template <class T> Result<T> drive(Opening<T>& opening, const FilePaths& files, Store& store) {
  std::vector<BufferPtr> bytes;
  while (true) {
    HEADRACE_ASSIGN(Step<T> step, opening.advance(bytes));
    if (auto* value = std::get_if<T>(&step)) return std::move(*value);
    bytes.clear();  // before reading more: an opening keeps what it still needs
    HEADRACE_ASSIGN(bytes, read_extents(*std::get_if<std::vector<Extent>>(&step), files, store));
  }
}
Result<BlockPtr> drive_block(const Source& source, uint64_t block, Store& store);

// One sample, read synchronously: for inspecting data, and for tests.
Result<std::vector<Tensor>> read_sample(const Source& source, uint64_t index, Store& store);

}  // namespace headrace
