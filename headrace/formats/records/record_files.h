// The Source of formats whose files are records one after the other: TFRecord, RecordIO, tar.
//
// A format says where the records lie (FileIndex, made by its RecordOpening) and what fields the bytes of one
// are; this is the rest. Samples are the records of the first file, then those of the second, and so on.
//
// A block is one record, or a run of neighbours: those below 1 KiB that begin in the same 1 KiB of a file.
// One read then brings ten records of 100 bytes, so that reading in order does not pay a read for each, and a
// sample drawn at random does not pay much for its neighbours. Records of 100 bytes from the page cache, one
// computing thread (bench/micro/record_files): runs of 4 KiB gave 3.1 million a second in order and 190,000
// shuffled, of 1 KiB 2.5 million and 340,000.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "headrace/formats/format.h"

namespace headrace {

inline constexpr uint64_t kRunBytes = 1024;

// The bytes of one record, framing included, inside a buffer that its fields may share.
struct Record {
  const BufferPtr& buffer;
  size_t offset = 0, length = 0;
  std::span<const std::byte> bytes() const { return buffer->bytes().subspan(offset, length); }
};

struct RecordFormat {
  std::string name;
  Schema schema;
  // FileIndex::extra holds pack_points() of files that are compressed as a whole (codecs/deflate/inflate.h),
  // and their records lie in what these inflate to. A run is then what begins between two points.
  bool inflates = false;
  // The fields of a record. Any thread. What it refuses is said without file and byte, which the source adds.
  // The file may have changed since it was indexed: nothing about the bytes is certain but their number.
  std::function<Status(const Record& record, std::vector<Tensor>& fields)> read;
};

// The length of the folder that all files lie in, with its slash: what fingerprints leave out.
size_t common_folder(const std::vector<SourceFile>& files);

// `indexes`: one for each of the request's files, in their order.
Result<SourcePtr> record_files(RecordFormat format, const OpenRequest& request,
                               std::vector<FileIndex> indexes);

}  // namespace headrace
