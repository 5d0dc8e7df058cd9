// Makes TFRecord files in memory, for tests and fuzz seeds.
#pragma once
#include <string>
#include <vector>

#include "headrace/formats/tfrecord/framing.h"

namespace headrace {

template <class T> std::string as_bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string framed(const std::string& data) {
  const auto crc = [](const std::string& text) {
    return as_bytes(masked_crc32c(std::as_bytes(std::span(text))));
  };
  const std::string length = as_bytes(uint64_t{data.size()});
  return length + crc(length) + data + crc(data);
}

inline std::string framed(const std::vector<std::string>& records) {
  std::string out;
  for (const std::string& record : records) out += framed(record);
  return out;
}

}  // namespace headrace
