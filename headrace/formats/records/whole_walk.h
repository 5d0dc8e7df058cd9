// The index of a file whose records are found by scanning all of its bytes: lines of text, rows of CSV. The
// file is plain, or deflated as a whole.
#pragma once
#include <memory>
#include <string>

#include "headrace/formats/format.h"

namespace headrace {

// Receives the bytes of a file, inflated if necessary, piece by piece, and adds the records it finds to the
// index. Belongs to one scan.
class RecordFinder {
 public:
  virtual ~RecordFinder() = default;
  virtual Status take(std::span<const std::byte> piece, FileIndex& index) = 0;
  // After the last byte. `whole`: the file ends there. Otherwise the rest is lost, and a record without an
  // end is not added.
  virtual void finish(bool whole, FileIndex& index) = 0;
};

// deflated: or zstd, detected by its first bytes. by_content: deflated if it begins like gzip or zstd.
enum class Packing { plain, deflated, by_content };

// The option "compression" of formats that are read this way: "none", "gzip", "zlib", "zstd"; `otherwise` if
// not given.
Result<Packing> packing(const OpenRequest& request, Packing otherwise);
OptionInfo compression_option(std::string otherwise);
bool begins_gzip(std::span<const std::byte> head);
bool begins_packed(std::span<const std::byte> head);  // like gzip or zstd

// Deflate compresses a thousand empty lines to a few bytes; an index must not take that much memory.
Status check_inflated_count(uint64_t records, uint64_t packed_size);

// FileIndex::extra becomes what the finder stored there, plus the points of deflated data;
// take_finders_extra() returns the former and leaves the latter, as RecordFormat::inflates requires.
std::unique_ptr<Opening<FileIndex>> walk_whole(SourceFile file, Packing packing,
                                               std::unique_ptr<RecordFinder> finder);
Result<std::string> take_finders_extra(FileIndex& index);

// The first bytes of the probed file as text, unpacked if they are gzip or zstd; whole characters if they are
// UTF-8. Empty if they are not text: contain a NUL, or are not UTF-8 and contain control characters.
std::string text_of_head(const Probe& probe);
// zstd unpacks block by block, and the first may extend past the head: then only the name tells what it
// holds.
bool hides_text_of_head(const Probe& probe);

}  // namespace headrace
