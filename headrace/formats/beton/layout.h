// The header of a .beton: its fields, and the position of each in a sample's record. Pure.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/tensor.h"

namespace headrace::beton {

inline constexpr uint64_t kBetonHeader = 24, kBetonField = 1041;

struct BetonHeader {
  uint64_t num_fields = 0, page_size = 0, num_samples = 0, table = 0;  // table: of allocations, to the end
  uint64_t records() const { return kBetonHeader + num_fields * kBetonField; }
  static Result<BetonHeader> parse(std::span<const std::byte> bytes, uint64_t file_size);
};

struct BetonField {
  enum class Kind : uint8_t { real = 0, whole = 1, image = 2, bytes = 3, array = 4, json = 5 };
  Kind kind = Kind::real;
  std::string name;
  TensorSpec spec;
  uint64_t at = 0;  // in a record
  bool is_pointed() const { return kind != Kind::real && kind != Kind::whole; }
};

struct BetonLayout {
  std::vector<BetonField> fields;
  uint64_t record = 0;  // bytes
  // `bytes`: num_fields * kBetonField of them.
  static Result<BetonLayout> parse(std::span<const std::byte> bytes);
};

// The entry in a record for an image stored elsewhere.
struct BetonImage {
  bool is_raw = false;
  uint16_t width = 0, height = 0;
  uint64_t pointer = 0;
};
BetonImage beton_image(const std::byte* at);  // of 13 bytes

}  // namespace headrace::beton
