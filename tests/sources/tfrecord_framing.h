// The framing of one TFRecord and the index of many: shared by the plain and the compressed reader.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace::trial {

inline constexpr uint64_t kRecordHeader = 12, kRecordFooter = 4;
inline constexpr uint64_t kMaxRecord = uint64_t{1} << 31;

// " at byte 17 of train.tfrecord"
std::string at_byte(uint64_t byte, const std::string& path);

// The length of the record whose header is `header`, when `left` bytes are left from its first byte on.
// REQUIRES: header.size() >= kRecordHeader.
Result<uint64_t> record_length(std::span<const std::byte> header, uint64_t left, uint64_t byte,
                               const std::string& path);

// The payload of the whole framed record, checked against both CRCs; it lies in `record`.
Result<std::span<const std::byte>> record_payload(std::span<const std::byte> record, uint64_t byte,
                                                  const std::string& path);

// Where records lie: for each file its records' first bytes, and where the last one ends.
class RecordIndex {
 public:
  explicit RecordIndex(size_t num_files) : starts_(num_files), ends_(num_files), first_(num_files + 1) {}
  void add(size_t file, uint64_t start, uint64_t end);  // in the order of the file
  void finish();                                        // after the last add, before the readers below

  struct Entry {
    uint64_t file, row, start, end;
  };
  uint64_t size() const { return first_.back(); }
  Entry at(uint64_t index) const;  // REQUIRES: index < size()
  uint64_t num_rows(uint64_t file) const { return starts_[file].size(); }
  Entry row(uint64_t file, uint64_t row) const;  // REQUIRES: row < num_rows(file)
  uint64_t end(uint64_t file) const { return ends_[file]; }

 private:
  std::vector<std::vector<uint64_t>> starts_;
  std::vector<uint64_t> ends_;
  std::vector<uint64_t> first_;  // number of records in the files before
};

// What both readers answer alike.
class RecordSource : public Source {
 public:
  RecordSource(std::vector<SourceFile> files, RecordIndex index);
  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return index_->size(); }
  uint64_t num_files() const override { return files_.size(); }
  std::string file(uint64_t ordinal) const override { return files_[ordinal].path; }
  std::string where(uint64_t index) const override;
  std::string fingerprint() const override;

 protected:
  Value describe_as(std::string_view format) const;
  std::vector<SourceFile> files_;
  std::shared_ptr<const RecordIndex> index_;  // blocks may outlive their source
  Schema schema_;
};

}  // namespace headrace::trial
