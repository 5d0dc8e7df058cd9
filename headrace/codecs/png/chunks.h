// The chunks of a PNG file, in place.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace headrace::png {

using Bytes = std::span<const std::byte>;

inline constexpr std::string_view kSignature{"\x89PNG\r\n\x1a\n", 8};
inline constexpr size_t kIhdrLength = 13, kChunkOverhead = 12;  // length, type and checksum: four bytes each

inline std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline uint32_t word_at(Bytes bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>(bytes[at + i]);
  return value;
}

struct Chunk {
  Bytes whole;
  std::string_view type() const { return text_of(whole.subspan(4, 4)); }
  Bytes data() const { return whole.subspan(8, whole.size() - kChunkOverhead); }
  Bytes checked() const { return whole.subspan(4, whole.size() - 8); }  // what the checksum covers
  uint32_t checksum() const { return word_at(whole, whole.size() - 4); }
};

// The chunk that begins at `at`; nothing where the file ends before it does. REQUIRES: at <= size.
inline std::optional<Chunk> chunk_at(Bytes file, size_t at) {
  if (file.size() - at < kChunkOverhead) return {};
  const uint32_t length = word_at(file, at);
  if (length > file.size() - at - kChunkOverhead) return {};
  return Chunk{file.subspan(at, length + kChunkOverhead)};
}

struct Ihdr {
  static constexpr int kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6;

  uint64_t width = 0, height = 0;
  int depth = 0, kind = 0;  // bits of a sample; one of those above
  bool is_interlaced = false;

  uint64_t samples() const {  // of a pixel in the file
    return kind == kRgb ? 3 : kind == kRgba ? 4 : kind == kGrayAlpha ? 2 : 1;
  }
  uint64_t row_bytes(uint64_t pixels) const {
    return (pixels * samples() * static_cast<uint64_t>(depth) + 7) / 8;
  }
};

// REQUIRES: the file begins with a whole IHDR.
inline Ihdr ihdr_of(Bytes file) {
  const Bytes fields = file.subspan(kSignature.size() + 8, kIhdrLength);
  return {word_at(fields, 0), word_at(fields, 4), std::to_integer<int>(fields[8]),
          std::to_integer<int>(fields[9]), std::to_integer<int>(fields[12]) != 0};
}

}  // namespace headrace::png
