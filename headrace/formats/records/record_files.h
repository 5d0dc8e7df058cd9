// The Source of formats whose files are records one after the other: TFRecord, RecordIO, tar.
//
// A format says where the records lie (FileIndex, made by its RecordOpening) and what fields the bytes of one
// are; this is the rest. Samples are the records of the first file, then those of the second, and so on.
//
// A block is one record, made into fields as soon as it is read; of a file that is compressed as a whole, all
// records between two points. Small records are read together, in whatever mix a batch wants them.
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

// Some of the records of one buffer, whose first byte is byte `base` of what their offsets count.
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

// Those that are small enough to be kept are going to be.
inline void expect_small(std::span<const Text> records, MappedBytes& mapped) {
  size_t all = 0;
  for (const Text& record : records)
    if (record.size() < kLeastMapped) all += record.size();
  if (all > 0) mapped.expect(all);
}

// Of those that RecordFormat::put_mapped() puts, one behind the other: `i` comes now, so the processor may
// fetch one that comes soon.
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
  // FileIndex::extra holds pack_points() of files that are compressed as a whole (codecs/deflate/inflate.h),
  // and their records lie in what these inflate to. A run is then what begins between two points.
  bool inflates = false;
  // The fields of a record. Any thread. What it refuses is said without file and byte, which the source adds.
  // The file may have changed since it was indexed: nothing about the bytes is certain but their number.
  std::function<Status(const Record& record, std::vector<Tensor>& fields)> read;
  // Block::put() of records, where a format offers it: how many of them, from the first on.
  std::function<size_t(const RecordRun& run, std::span<const FieldPlace> to)> put = nullptr;
  // The same of records of mapped files, as the rows from `first` on; those behind are to be read. Small ones
  // are kept, large ones may stay (MappedBytes).
  std::function<size_t(std::span<const Text> records, MappedBytes& mapped, size_t first,
                       std::span<const FieldPlace> to)>
      put_mapped = nullptr;
  // These of its fields alone, of the same records; null: all are made of a record at once.
  std::function<RecordFormat(std::span<const int> fields)> with_fields = nullptr;
  // What Source::where() calls a record, "line 17"; "record 17", counted from 0, when not given.
  std::function<std::string(size_t file, uint64_t record)> called = nullptr;
  // What else decides which bytes are read; part of the fingerprint.
  std::string options = "";
  // What should be said of the data, for metadata().
  std::vector<std::string> notes = {};
};

// `indexes`: one for each of the request's files, in their order.
Result<SourcePtr> record_files(RecordFormat format, const OpenRequest& request,
                               std::vector<FileIndex> indexes);

// Source::fingerprint() of record files: the names below their common folder, sizes and numbers of records.
std::string files_fingerprint(std::string_view format, const std::vector<SourceFile>& files,
                              std::span<const uint64_t> records);

}  // namespace headrace
