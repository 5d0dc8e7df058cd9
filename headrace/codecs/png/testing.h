// PNG files made piece by piece, for tests and fuzz targets.
#pragma once
#include <span>
#include <string>

#include "headrace/codecs/deflate/deflate.h"
#include "headrace/codecs/deflate/whole.h"

namespace headrace::png::testing {

inline std::string word(size_t value) {  // big-endian
  std::string out;
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift & 255);
  return out;
}

// With its checksum.
inline std::string chunk(const std::string& type, const std::string& data) {
  const std::string checked = type + data;
  return word(data.size()) + checked + word(crc32_of(std::as_bytes(std::span(checked))));
}

inline std::string packed(const std::string& pixels, int level) {
  std::string out;
  const auto put = [&](std::span<const std::byte> piece) {
    out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return Status();
  };
  Deflater deflater(DeflateWrap::zlib, level);
  if (!deflater.feed(std::as_bytes(std::span(pixels)), put).ok() || !deflater.finish(put).ok()) out.clear();
  return out;
}

}  // namespace headrace::png::testing
