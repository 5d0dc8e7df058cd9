// Makes tars in memory, for tests and fuzz seeds.
#pragma once
#include <cstdio>
#include <string>
#include <string_view>

#include "headrace/formats/webdataset/tar_head.h"

namespace headrace {

inline std::string padded(std::string bytes) {
  bytes.resize((bytes.size() + kTarBlock - 1) / kTarBlock * kTarBlock, '\0');
  return bytes;
}

// Sets the checksum of its first header.
inline std::string with_checksum(std::string tar) {
  tar.replace(148, 8, "        ");
  unsigned sum = 0;
  for (size_t i = 0; i < kTarBlock; ++i) sum += static_cast<unsigned char>(tar[i]);
  char text[9];
  std::snprintf(text, sizeof text, "%06o", sum);
  return tar.replace(148, 7, text, 7);  // with the NUL after it
}

inline std::string tar_header(std::string_view name, uint64_t size, char type = '0',
                              std::string_view prefix = "") {
  std::string out(kTarBlock, '\0');
  out.replace(0, name.size(), name);
  out.replace(100, 8, "0000644", 8);
  char octal[13];
  std::snprintf(octal, sizeof octal, "%011llo", static_cast<unsigned long long>(size));
  out.replace(124, 12, octal, 12);
  out[156] = type;
  out.replace(257, 8,
              std::string_view("ustar\0"
                               "00",
                               8));
  out.replace(345, prefix.size(), prefix);
  return with_checksum(out);
}

inline std::string tar_member(std::string_view name, const std::string& data, char type = '0',
                              std::string_view prefix = "") {
  return tar_header(name, data.size(), type, prefix) + padded(data);
}

// "LENGTH KEY=VALUE\n"
inline std::string pax_record(const std::string& key, const std::string& value) {
  const std::string rest = " " + key + "=" + value + "\n";
  size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

inline std::string pax(const std::string& records, char type = 'x') {
  return tar_member("PaxHeader", records, type);
}

inline std::string tar_end() { return std::string(2 * kTarBlock, '\0'); }

}  // namespace headrace
