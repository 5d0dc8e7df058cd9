// The Source of formats whose files are records one after the other: TFRecord, RecordIO, tar.
//
// A format provides the positions of the records (FileIndex, made by its RecordOpening) and decodes the bytes
// of one into fields. Samples are the records of the first file, then those of the second, and so on.
//
// A block is one record, decoded into fields as soon as it is read; of a file that is compressed as a whole,
// all records between two points. Small records are read together, in any combination that a batch needs.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/format.h"

namespace headrace {

// The bytes of one record, framing included, inside a buffer that its fields may share.
struct Record {
  const BufferPtr& buffer;
  size_t offset = 0, length = 0;
  std::span<const std::byte> bytes() const { return buffer->bytes().subspan(offset, length); }
};

// Some of the records in one buffer, whose first byte is at offset `base`.
struct RecordRun {
  const BufferPtr& buffer;
  uint64_t base = 0;
  std::span<const RecordExtent> records;

  Record operator[](size_t i) const { return {buffer, records[i].offset - base, records[i].length}; }
  std::string_view text(size_t i) const {
    return {reinterpret_cast<const char*>(buffer->data()) + (records[i].offset - base), records[i].length};
  }
  size_t bytes() const {
    size_t out = 0;
    for (const RecordExtent& record : records) out += record.length;
    return out;
  }
};

// Reserves memory for those records that are small enough to be kept.
inline void expect_small(std::span<const Text> records, MappedBytes& mapped) {
  size_t all = 0;
  for (const Text& record : records)
    if (record.size() < kLeastMapped) all += record.size();
  if (all > 0) mapped.expect(all);
}

// For RecordFormat::put_mapped(), which puts one record after the other: called at record `i`, prefetches one
// that follows soon.
inline void expect_record(std::span<const Text> records, size_t i) {
  constexpr size_t kAhead = 10, kLine = 64;
  if (i + kAhead >= records.size()) return;
  const Text soon = records[i + kAhead];
  __builtin_prefetch(soon.data());
  if (soon.size() > kLine) __builtin_prefetch(soon.data() + kLine);
}

struct RecordFormat {
  std::string name;
  Schema schema;
  // FileIndex::extra holds pack_points() of files that are compressed as a whole (codecs/deflate/inflate.h);
  // offsets of their records refer to the inflated data. A run then consists of the records that begin
  // between two points.
  bool inflates = false;
  // The fields of a record. Any thread. Errors do not contain the file and byte, which the source adds. The
  // file may have changed since it was indexed: only the number of bytes is certain.
  std::function<Status(const Record& record, std::vector<Tensor>& fields)> read;
  // Block::put() of records, if the format supports it: returns how many were put, counted from the first.
  std::function<size_t(const RecordRun& run, std::span<const FieldPlace> to)> put = nullptr;
  // The same for records of mapped files, as the rows from `first` on; the others have to be read. Small ones
  // are copied, large ones may stay (MappedBytes).
  std::function<size_t(std::span<const Text> records, MappedBytes& mapped, size_t first,
                       std::span<const FieldPlace> to)>
      put_mapped = nullptr;
  // The same records with only these fields; null: the fields of a record are decoded together.
  std::function<RecordFormat(std::span<const int> fields)> with_fields = nullptr;
  // What Source::where() calls a record, such as "line 17"; by default "record 17", counted from 0.
  std::function<std::string(size_t file, uint64_t record)> called = nullptr;
  // Other options that decide which bytes are read; part of the fingerprint.
  std::string options = "";
  // Notes about the data, for metadata().
  std::vector<std::string> notes = {};
};

// `indexes`: one per file of the request, in their order.
Result<SourcePtr> record_files(RecordFormat format, const OpenRequest& request,
                               std::vector<FileIndex> indexes);

// Source::fingerprint() of record files: names relative to their common folder, sizes and record counts.
std::string files_fingerprint(std::string_view format, const std::vector<SourceFile>& files,
                              std::span<const uint64_t> records);

}  // namespace headrace
