// The index of a file whose records are found by looking at all of its bytes: lines of text, rows of CSV. The
// file is plain, or deflated as a whole.
#pragma once
#include <memory>
#include <string>

#include "headrace/formats/format.h"

namespace headrace {

// Gets the bytes of a file, or what they inflate to, piece by piece, and adds the records it finds to the
// index. Belongs to one walk.
class RecordFinder {
 public:
  virtual ~RecordFinder() = default;
  virtual Status take(std::span<const std::byte> piece, FileIndex& index) = 0;
  // After the last byte. `whole`: the file ends there. Else what follows is lost, and a record that has no
  // end is none.
  virtual void finish(bool whole, FileIndex& index) = 0;
};

// deflated: or zstd, which its first bytes say. by_content: where it begins as gzip or zstd does.
enum class Packing { plain, deflated, by_content };

// The option "compression" of formats that are read this way: "none", "gzip", "zlib", "zstd"; `otherwise`
// when not given.
Result<Packing> packing(const OpenRequest& request, Packing otherwise);
OptionInfo compression_option(std::string otherwise);
bool begins_gzip(std::span<const std::byte> head);
bool begins_packed(std::span<const std::byte> head);  // as gzip or zstd does

// Deflate packs a thousand empty lines into a few bytes; an index may not take that much memory.
Status check_inflated_count(uint64_t records, uint64_t packed_size);

// FileIndex::extra becomes what the finder left there and the points of what is deflated;
// take_finders_extra() gives back the former and leaves the latter, as RecordFormat::inflates wants it.
std::unique_ptr<Opening<FileIndex>> walk_whole(SourceFile file, Packing packing,
                                               std::unique_ptr<RecordFinder> finder);
Result<std::string> take_finders_extra(FileIndex& index);

// The first bytes of the probed file as text, unpacked where they are gzip's or zstd's; in whole characters
// where they are UTF-8. Nothing when they are no text: with a NUL, or what is no UTF-8 has control
// characters.
std::string text_of_head(const Probe& probe);
// zstd unpacks block by block, and the first may not end within the head: only the name says what it holds.
bool hides_text_of_head(const Probe& probe);

}  // namespace headrace
