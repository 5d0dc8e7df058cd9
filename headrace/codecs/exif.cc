#include "headrace/codecs/exif.h"

#include <cstring>

namespace headrace {
namespace {

// Integers of a TIFF block in its own byte order; reading past the end gives 0, which no caller treats as a
// valid value.
class TiffBlock {
 public:
  explicit TiffBlock(std::span<const std::byte> bytes) : bytes_(bytes) {
    if (bytes.size() < 8) return;
    big_endian_ = bytes[0] == std::byte{'M'};
    const std::byte order = big_endian_ ? std::byte{'M'} : std::byte{'I'};
    valid_ = bytes[0] == order && bytes[1] == order && integer(2, 2) == 42;
  }
  bool valid() const { return valid_; }
  uint32_t integer(size_t at, size_t width) const {
    if (at > bytes_.size() || width > bytes_.size() - at) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < width; ++i)
      value = value << 8 | std::to_integer<uint32_t>(bytes_[at + (big_endian_ ? i : width - 1 - i)]);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
  bool big_endian_ = false, valid_ = false;
};

constexpr uint32_t kOrientationTag = 0x0112, kShort = 3, kLong = 4;
constexpr size_t kEntrySize = 12;

// Walk the source in the order of the output: a step per output column and one per output row.
template <int kBytes> void turn(const uint8_t* first, ptrdiff_t row_step, ptrdiff_t column_step, int64_t rows,
                                int64_t columns, uint8_t* out) {
  for (int64_t y = 0; y < rows; ++y) {
    const uint8_t* in = first + y * row_step;
    for (int64_t x = 0; x < columns; ++x, in += column_step, out += kBytes) std::memcpy(out, in, kBytes);
  }
}

}  // namespace

int exif_orientation(std::span<const std::byte> bytes) {
  const TiffBlock tiff(bytes);
  if (!tiff.valid()) return 1;
  const size_t directory = tiff.integer(4, 4);
  const uint32_t count = tiff.integer(directory, 2);
  for (uint32_t i = 0; i < count; ++i) {
    const size_t entry = directory + 2 + i * kEntrySize;
    if (entry + kEntrySize > bytes.size()) return 1;
    if (tiff.integer(entry, 2) != kOrientationTag) continue;
    const uint32_t type = tiff.integer(entry + 2, 2);
    const uint32_t value = type == kShort  ? tiff.integer(entry + 8, 2)
                           : type == kLong ? tiff.integer(entry + 8, 4)
                                           : 0;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

void apply_orientation(const uint8_t* in, int64_t height, int64_t width, int pixel_bytes, int orientation,
                       uint8_t* out) {
  const bool transposes = orientation_transposes(orientation);
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const ptrdiff_t down = width * pixel_bytes;
  const uint8_t* first =
      in + (from_bottom ? (height - 1) * down : 0) + (from_right ? (width - 1) * pixel_bytes : 0);
  const ptrdiff_t vertical = from_bottom ? -down : down;
  const ptrdiff_t horizontal = from_right ? -pixel_bytes : pixel_bytes;
  const ptrdiff_t row_step = transposes ? horizontal : vertical,
                  column_step = transposes ? vertical : horizontal;
  const int64_t rows = transposes ? width : height, columns = transposes ? height : width;
  switch (pixel_bytes) {
    case 1: return turn<1>(first, row_step, column_step, rows, columns, out);
    case 2: return turn<2>(first, row_step, column_step, rows, columns, out);
    case 3: return turn<3>(first, row_step, column_step, rows, columns, out);
    case 4: return turn<4>(first, row_step, column_step, rows, columns, out);
    case 6: return turn<6>(first, row_step, column_step, rows, columns, out);
    case 8: return turn<8>(first, row_step, column_step, rows, columns, out);
    case 12: return turn<12>(first, row_step, column_step, rows, columns, out);
    default: return turn<16>(first, row_step, column_step, rows, columns, out);
  }
}

}  // namespace headrace
