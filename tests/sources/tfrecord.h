// TFRecord, plain or compressed as a whole: each sample is one record's bytes, in the field "record".
//
//   record := u64 length, u32 masked CRC-32C of the length, `length` bytes, u32 masked CRC-32C of the bytes
//
// Plain: the index is built by windows, a few files at a time; records longer than a window are stepped over,
// not read. Each record is then an Extent and a Block of its own. Compressed: each file is inflated once to
// count its records and once more when it is opened as a Block with many rows; only offsets are kept in
// between.
#pragma once
#include <memory>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace::trial {

struct TfrecordOptions {
  uint64_t window = 1 << 20;  // bytes asked at a time while the index is built, at least one record header
};

Result<std::unique_ptr<Opening<SourcePtr>>> open_tfrecord(std::vector<SourceFile> files,
                                                          TfrecordOptions options = {});

// gzip (one member or several) or zlib, told apart by the first bytes.
Result<std::unique_ptr<Opening<SourcePtr>>> open_gzip_tfrecord(std::vector<SourceFile> files);

}  // namespace headrace::trial
