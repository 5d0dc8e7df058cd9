// The index of a TFRecord file: found by going from header to header, in the file or in what it inflates to.
#pragma once
#include <memory>
#include <string>

#include "headrace/formats/format.h"

namespace headrace {

// Asks for headers alone where records are long, and for whole windows where many lie in one.
// FileIndex::extra is that of RecordFormat::inflates, once take_claim() has had it.
std::unique_ptr<Opening<FileIndex>> walk_tfrecord(SourceFile file);

// Of an index that is what DALI's beside the file says, of which some headers were looked at: that file,
// and out of the index. "" of one that was found by walking.
std::string take_claim(const SourceFile& file, FileIndex& index);

// Whether the first bytes of a file are a record's, or gzip, zlib or zstd data that unpack to one's.
bool begins_tfrecord(std::span<const std::byte> head, uint64_t size);
bool begins_deflated_tfrecord(std::span<const std::byte> head);

}  // namespace headrace
