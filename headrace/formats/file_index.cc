#include "headrace/formats/file_index.h"

#include <cstring>
#include <limits>

namespace headrace {
namespace {

enum Form : uint64_t { kClose = 1, kApart = 2 };

struct Head {
  uint64_t form, count, first;
};

bool are_close(const std::vector<RecordExtent>& records) {
  uint64_t next = records.empty() ? 0 : records[0].offset;
  for (const RecordExtent& record : records) {
    if (record.offset != next || record.length > std::numeric_limits<uint32_t>::max()) return false;
    next += record.length;
  }
  return true;
}

}  // namespace

bool is_in_order(const FileIndex& index, uint64_t size) {
  uint64_t end = 0;
  for (const RecordExtent& record : index.records) {
    if (record.offset < end || record.offset > size || record.length > size - record.offset) return false;
    end = record.offset + record.length;
  }
  return true;
}

std::string pack_records(const FileIndex& index) {
  const std::vector<RecordExtent>& records = index.records;
  const bool close = are_close(records);
  const Head head{close ? kClose : kApart, records.size(), records.empty() ? 0 : records[0].offset};
  std::string out(sizeof head + records.size() * (close ? sizeof(uint32_t) : sizeof(RecordExtent)), '\0');
  std::memcpy(out.data(), &head, sizeof head);
  if (close) {
    for (size_t i = 0; i < records.size(); ++i) {
      const auto length = static_cast<uint32_t>(records[i].length);
      std::memcpy(out.data() + sizeof head + i * sizeof length, &length, sizeof length);
    }
  } else {
    std::memcpy(out.data() + sizeof head, records.data(), records.size() * sizeof(RecordExtent));
  }
  return out;
}

std::optional<std::vector<RecordExtent>> unpack_records(std::span<const std::byte> bytes) {
  Head head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  bytes = bytes.subspan(sizeof head);
  if (head.form != kClose && head.form != kApart) return std::nullopt;
  const size_t each = head.form == kClose ? sizeof(uint32_t) : sizeof(RecordExtent);
  if (bytes.size() % each != 0 || bytes.size() / each != head.count) return std::nullopt;
  std::vector<RecordExtent> out(head.count);
  if (head.form == kApart) {
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
  uint64_t offset = head.first;
  for (size_t i = 0; i < out.size(); ++i) {
    uint32_t length = 0;
    std::memcpy(&length, bytes.data() + i * sizeof length, sizeof length);
    out[i] = {offset, length};
    offset += length;
  }
  return out;
}

std::string pack_damaged(const FileIndex& index) {
  std::string out;
  for (const DamagedPlace& place : index.damaged) {
    const uint64_t numbers[] = {place.after, place.offset, place.reason.size()};
    out.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
    out += place.reason;
  }
  return out;
}

std::optional<std::vector<DamagedPlace>> unpack_damaged(std::span<const std::byte> bytes) {
  std::vector<DamagedPlace> out;
  while (!bytes.empty()) {
    uint64_t numbers[3];
    if (bytes.size() < sizeof numbers) return std::nullopt;
    std::memcpy(numbers, bytes.data(), sizeof numbers);
    bytes = bytes.subspan(sizeof numbers);
    if (numbers[2] > bytes.size()) return std::nullopt;
    if (!out.empty() && numbers[0] < out.back().after) return std::nullopt;
    out.push_back({numbers[0], numbers[1], {reinterpret_cast<const char*>(bytes.data()), numbers[2]}});
    bytes = bytes.subspan(numbers[2]);
  }
  return out;
}

}  // namespace headrace
