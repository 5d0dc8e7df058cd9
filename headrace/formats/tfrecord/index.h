// The index of a TFRecord file, found by going from header to header in the file or in what it inflates to.
#pragma once
#include <memory>
#include <string>

#include "headrace/formats/format.h"

namespace headrace {

// Reads headers alone where records are long, and whole windows where many fit into one. FileIndex::extra is
// that of RecordFormat::inflates after take_claim().
std::unique_ptr<Opening<FileIndex>> walk_tfrecord(SourceFile file);

// For an index taken from DALI's next to the file, checked at some headers: the path of that file, which is
// removed from the index. "" for one that was found by walking.
std::string take_claim(const SourceFile& file, FileIndex& index);

// Whether a file begins with a record, or with gzip, zlib or zstd data that unpack to one.
bool begins_tfrecord(std::span<const std::byte> head, uint64_t size);
bool begins_deflated_tfrecord(std::span<const std::byte> head);

}  // namespace headrace
