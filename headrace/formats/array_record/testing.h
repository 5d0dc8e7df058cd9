// Makes ArrayRecord files in memory, for tests and fuzz seeds.
#pragma once
#include <string>
#include <vector>

#include "headrace/codecs/highway_hash.h"
#include "headrace/codecs/protobuf.h"
#include "headrace/core/text/text.h"

namespace headrace {

template <class T> std::string riegeli_bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string riegeli_varint(uint64_t value) {
  std::string out;
  append_varint(value, out);
  return out;
}

inline std::string riegeli_chunk_bytes(char type, uint64_t records, uint64_t decoded,
                                       const std::string& data) {
  const std::string rest = riegeli_bytes(uint64_t{data.size()}) +
                           riegeli_bytes(riegeli_hash(text_bytes(data))) +
                           riegeli_bytes(records << 8 | static_cast<uint8_t>(type)) + riegeli_bytes(decoded);
  return riegeli_bytes(riegeli_hash(text_bytes(rest))) + rest + data;
}

// A chunk of records; `pack` compresses each of its parts, `packing` is the code of the compression.
template <class Pack>
std::string riegeli_records_bytes(const std::vector<std::string>& records, char packing, const Pack& pack) {
  std::string sizes, values;
  for (const std::string& record : records) sizes += riegeli_varint(record.size()), values += record;
  const auto part = [&](const std::string& bytes) {
    return packing == '\0' ? bytes : riegeli_varint(bytes.size()) + pack(bytes);
  };
  const std::string packed = part(sizes);
  return riegeli_chunk_bytes('r', records.size(), values.size(),
                             std::string(1, packing) + riegeli_varint(packed.size()) + packed + part(values));
}
inline std::string riegeli_records_bytes(const std::vector<std::string>& records) {
  return riegeli_records_bytes(records, '\0', [](const std::string& bytes) { return bytes; });
}

// A file that grows, with a header at each multiple of 64 KiB.
class RiegeliTestFile {
 public:
  uint64_t add(const std::string& chunk) {
    const uint64_t begin = bytes_.size();
    for (const char c : chunk) {
      if (bytes_.size() % 65536 == 0) add_header();
      bytes_ += c;
    }
    return begin;
  }
  void fill_block() {
    while (bytes_.size() % 65536 != 0) bytes_ += '\0';
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void add_header() {
    const std::string rest = riegeli_bytes(uint64_t{0}) + riegeli_bytes(uint64_t{64});
    bytes_ += riegeli_bytes(riegeli_hash(text_bytes(rest))) + rest;
  }
  std::string bytes_;
};

inline std::string riegeli_message(const std::vector<std::pair<int, uint64_t>>& numbers) {
  std::string out;
  for (const auto& [field, value] : numbers)
    out += riegeli_varint(static_cast<uint64_t>(field) << 3) + riegeli_varint(value);
  return out;
}

struct ArrayRecordTestChunk {
  std::string bytes;
  uint64_t records = 1;
  uint64_t unpacked = 0;  // bytes according to the footer; 0: not given
};

// `num_records`: the number in the footer; 0: the real one.
inline std::string array_record_file(const std::vector<ArrayRecordTestChunk>& chunks,
                                     uint64_t num_records = 0) {
  RiegeliTestFile file;
  file.add(riegeli_chunk_bytes('s', 0, 0, ""));
  std::vector<std::string> footer(1);
  uint64_t sum = 0;
  for (const ArrayRecordTestChunk& chunk : chunks) {
    footer.push_back(riegeli_message({{1, file.add(chunk.bytes)}, {2, chunk.unpacked}, {3, chunk.records}}));
    sum += chunk.records;
  }
  const std::string about =
      riegeli_message({{1, 1}, {2, chunks.size()}, {3, num_records != 0 ? num_records : sum}});
  footer[0] = "\x0a" + riegeli_varint(about.size()) + about;
  const uint64_t at = file.add(riegeli_records_bytes(footer));
  file.fill_block();
  const std::string postscript = riegeli_message({{1, at}, {2, 0x71930e704fdae05e}});
  file.add(riegeli_records_bytes({postscript, postscript, postscript}));
  file.fill_block();
  return file.bytes();
}

}  // namespace headrace
