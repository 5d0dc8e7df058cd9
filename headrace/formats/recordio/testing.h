// Makes RecordIO files in memory, for tests and fuzz seeds.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "headrace/formats/recordio/framing.h"

namespace headrace {

template <class T> std::string word_bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string recordio_part_bytes(PartKind kind, const std::string& data) {
  const auto length = static_cast<uint32_t>(data.size());
  return word_bytes(kRecordioMagic) + word_bytes(static_cast<uint32_t>(kind) << 29 | length) + data +
         std::string((4 - length % 4) % 4, '\0');
}

// As dmlc's writer writes it: split at each magic word at a multiple of four.
inline std::string recordio_record(const std::string& data) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < data.size(); i += 4) {
    if (data.compare(i, 4, word_bytes(kRecordioMagic)) == 0)
      parts.emplace_back();
    else
      parts.back() += data.substr(i, 4);
  }
  if (parts.size() == 1) return recordio_part_bytes(PartKind::whole, data);
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i)
    out += recordio_part_bytes(i == 0                  ? PartKind::first
                               : i + 1 == parts.size() ? PartKind::last
                                                       : PartKind::middle,
                               parts[i]);
  return out;
}

inline std::string recordio_file(const std::vector<std::string>& records) {
  std::string out;
  for (const std::string& record : records) out += recordio_record(record);
  return out;
}

// The data of an image record: one label in the header, or labels that follow it.
inline std::string image_record(const std::vector<float>& labels, bool follow, uint64_t id,
                                const std::string& image) {
  std::string out = word_bytes(static_cast<uint32_t>(follow ? labels.size() : 0)) +
                    word_bytes(follow ? 0.0f : labels[0]) + word_bytes(id) + word_bytes(uint64_t{0});
  if (follow)
    for (const float label : labels) out += word_bytes(label);
  return out + image;
}

}  // namespace headrace
