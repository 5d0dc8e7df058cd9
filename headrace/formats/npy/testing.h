// NumPy's files made by hand, for tests.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace headrace {

// Version 1.0. `descr` with its quotes; the header is padded to `before` bytes.
inline std::string npy_file(const std::string& descr, const std::string& fortran, const std::string& shape,
                            const std::string& data, size_t before = 128) {
  std::string header = "{'descr': " + descr + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  header.append(before - 11 - header.size(), ' ') += '\n';
  std::string out = "\x93NUMPY";
  out.append("\1\0", 2);
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  return out + header + data;
}

struct ZipMember {
  std::string name, data;
  bool deflated = false;
};
// `wide`: sizes, offsets and the directory as in zip64.
std::string zip_file(const std::vector<ZipMember>& members, bool wide = false);

}  // namespace headrace
