// PNG files made piece by piece, for tests and fuzz targets.
#pragma once
#include <libdeflate.h>
#include <zlib.h>

#include <string>

namespace headrace::png::testing {

inline std::string word(size_t value) {  // big-endian
  std::string out;
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(value >> shift & 255);
  return out;
}

// With the checksum that it wants.
inline std::string chunk(const std::string& type, const std::string& data) {
  const std::string checked = type + data;
  return word(data.size()) + checked + word(libdeflate_crc32(0, checked.data(), checked.size()));
}

inline std::string packed(const std::string& pixels, int level) {
  uLongf size = compressBound(static_cast<uLong>(pixels.size()));
  std::string out(size, '\0');
  compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(pixels.data()),
            static_cast<uLong>(pixels.size()), level);
  out.resize(size);
  return out;
}

}  // namespace headrace::png::testing
