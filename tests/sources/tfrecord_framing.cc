#include "tests/sources/tfrecord_framing.h"

#include <algorithm>

#include "tests/sources/crc32c.h"
#include "tests/sources/little_endian.h"

namespace headrace::trial {

std::string at_byte(uint64_t byte, const std::string& path) {
  return " at byte " + std::to_string(byte) + " of " + path;
}

Result<uint64_t> record_length(std::span<const std::byte> header, uint64_t left, uint64_t byte,
                               const std::string& path) {
  if (masked(crc32c(header.first(8))) != load<uint32_t>(header.data() + 8))
    return corrupt("tfrecord: wants the CRC of a record's length to match, it does not" +
                   at_byte(byte, path));
  const auto length = load<uint64_t>(header.data());
  const uint64_t room = left < kRecordHeader + kRecordFooter ? 0 : left - kRecordHeader - kRecordFooter;
  if (left < kRecordHeader + kRecordFooter || length > room)
    return corrupt("tfrecord: wants a record of " + std::to_string(length) + " bytes, only " +
                   std::to_string(room) + " are left" + at_byte(byte, path));
  if (length > kMaxRecord)
    return Status(Code::exhausted, "tfrecord: a record may have " + std::to_string(kMaxRecord) +
                                       " bytes, got " + std::to_string(length) + at_byte(byte, path));
  return length;
}

Result<std::span<const std::byte>> record_payload(std::span<const std::byte> record, uint64_t byte,
                                                  const std::string& path) {
  if (record.size() < kRecordHeader + kRecordFooter)
    return corrupt("tfrecord: a record is cut short" + at_byte(byte, path));
  HEADRACE_ASSIGN(const uint64_t length, record_length(record, record.size(), byte, path));
  if (length != record.size() - kRecordHeader - kRecordFooter)
    return corrupt("tfrecord: a record's length changed since the index was built" + at_byte(byte, path));
  const auto payload = record.subspan(kRecordHeader, length);
  if (masked(crc32c(payload)) != load<uint32_t>(record.data() + kRecordHeader + length))
    return corrupt("tfrecord: wants the CRC of a record to match, it does not" + at_byte(byte, path));
  return payload;
}

void RecordIndex::add(size_t file, uint64_t start, uint64_t end) {
  starts_[file].push_back(start);
  ends_[file] = end;
}

void RecordIndex::finish() {
  for (size_t file = 0; file < starts_.size(); ++file) first_[file + 1] = first_[file] + starts_[file].size();
}

RecordIndex::Entry RecordIndex::at(uint64_t index) const {
  const auto file = std::upper_bound(first_.begin(), first_.end(), index) - first_.begin() - 1;
  return row(static_cast<uint64_t>(file), index - first_[static_cast<size_t>(file)]);
}

RecordIndex::Entry RecordIndex::row(uint64_t file, uint64_t row) const {
  const auto& starts = starts_[file];
  return {file, row, starts[row], row + 1 < starts.size() ? starts[row + 1] : ends_[file]};
}

RecordSource::RecordSource(std::vector<SourceFile> files, RecordIndex index)
    : files_(std::move(files)),
      index_(std::make_shared<RecordIndex>(std::move(index))),
      schema_(Schema::of({"record"}, {{DType::bytes, {kAny}}})) {}

std::string RecordSource::where(uint64_t index) const {
  const auto entry = index_->at(index);
  return files_[entry.file].path + " at byte " + std::to_string(entry.start);
}

std::string RecordSource::fingerprint() const {
  std::string text = "tfrecord " + std::to_string(size());
  for (const SourceFile& file : files_)
    text += " " + file.path.substr(file.path.rfind('/') + 1) + ":" + std::to_string(file.size);
  return hash_text(text);
}

Value RecordSource::describe_as(std::string_view format) const {
  Value::List paths;
  for (const SourceFile& file : files_) paths.emplace_back(file.path);
  return Value::Object{{"format", format}, {"files", std::move(paths)}};
}

}  // namespace headrace::trial
