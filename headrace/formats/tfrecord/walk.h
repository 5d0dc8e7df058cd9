// The index of a TFRecord file: found by going from header to header, in the file or in what it inflates to.
#pragma once
#include <memory>

#include "headrace/formats/format.h"

namespace headrace {

// Asks for headers alone where records are long, and for whole windows where many lie in one.
// FileIndex::extra is that of RecordFormat::inflates.
std::unique_ptr<Opening<FileIndex>> walk_tfrecord(SourceFile file);

// Whether the first bytes of a file are a record's, or gzip, zlib or zstd data that unpack to one's.
bool begins_tfrecord(std::span<const std::byte> head, uint64_t size);
bool begins_deflated_tfrecord(std::span<const std::byte> head);

}  // namespace headrace
