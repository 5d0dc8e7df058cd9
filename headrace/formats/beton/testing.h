// Makes .beton files in memory, for tests and fuzz seeds.
#pragma once
#include <cstring>
#include <string>
#include <vector>

namespace headrace {

template <class T> std::string beton_bytes(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string beton_field(int type, const std::string& name, const std::string& args = "") {
  std::string out(1041, '\0');
  out[0] = static_cast<char>(type);
  return out.replace(1, name.size(), name).replace(17, args.size(), args);
}

inline std::string beton_array_args(const std::vector<uint64_t>& shape, const std::string& dtype) {
  std::string out;
  for (size_t i = 0; i < 32; ++i) out += beton_bytes(i < shape.size() ? shape[i] : uint64_t{0});
  return out + beton_bytes(uint64_t{dtype.size()}) + dtype;
}

struct BetonTestFile {
  std::vector<std::string> fields;
  std::string records;  // of all samples
  uint64_t num_samples = 0;
  std::string data;  // from data_begin() on
  struct Allocation {
    uint64_t sample = 0, pointer = 0, size = 0;
  };
  std::vector<Allocation> allocations;

  // Data begin right after the records and not at a page; nothing depends on it.
  static uint64_t data_begin(uint64_t fields, uint64_t records) { return 24 + fields * 1041 + records; }

  std::string bytes() const {
    const uint64_t table = data_begin(fields.size(), records.size()) + data.size();
    std::string out = beton_bytes(uint16_t{2}) + beton_bytes(static_cast<uint16_t>(fields.size())) +
                      beton_bytes(uint32_t{1} << 21) + beton_bytes(num_samples) + beton_bytes(table);
    for (const std::string& field : fields) out += field;
    out += records + data;
    for (const Allocation& one : allocations)
      out += beton_bytes(one.sample) + beton_bytes(one.pointer) + beton_bytes(one.size);
    return out;
  }
};

inline std::string beton_image_slot(bool is_raw, uint16_t width, uint16_t height, uint64_t pointer) {
  return std::string(1, is_raw ? '\1' : '\0') + beton_bytes(width) + beton_bytes(height) +
         beton_bytes(pointer);
}

}  // namespace headrace
