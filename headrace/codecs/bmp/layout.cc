// The headers of a BMP, from that of OS/2 (12 bytes) to version 5 of Windows (124 bytes), read as Pillow
// does.
#include <algorithm>
#include <bit>
#include <string>

#include "headrace/codecs/bmp/bmp.h"
#include "headrace/codecs/fields.h"

namespace headrace::bmp {
namespace {

using Bytes = std::span<const std::byte>;

constexpr size_t kFileHeader = 14;
constexpr uint32_t kCoreHeader = 12, kInfoHeader = 40, kMasksWithAlpha = 56;

Result<BitField> bit_field(uint32_t mask) {
  if (mask == 0) return BitField{};
  const BitField field{std::countr_zero(mask), std::popcount(mask)};
  if (mask >> field.shift != (uint64_t{1} << field.bits) - 1 || field.bits > 8)
    return Status(Code::unavailable, {.expected = "a BMP whose channels have up to 8 adjacent bits",
                                      .got = "a mask " + std::to_string(mask)});
  return field;
}

std::array<uint32_t, 4> usual_masks(int bits) {
  if (bits == 16) return {0x7C00, 0x3E0, 0x1F, 0};
  return {0xFF0000, 0xFF00, 0xFF, 0};
}

Status read_fields(Bytes info, Layout& layout) {
  std::array<uint32_t, 4> masks = usual_masks(layout.bits);
  if (layout.packing == Packing::bit_fields) {
    const uint32_t size = little_endian_at(info, 0, 4);
    for (size_t c = 0; c < 3; ++c) masks[c] = little_endian_at(info, kInfoHeader + 4 * c, 4);
    if (size >= kMasksWithAlpha) masks[3] = little_endian_at(info, kInfoHeader + 12, 4);
    // All of them zero: Pillow takes them as blue, green, red, alpha.
    if (layout.bits == 32 && masks == std::array<uint32_t, 4>{}) masks = {0xFF0000, 0xFF00, 0xFF, 0xFF000000};
  }
  for (size_t c = 0; c < 4; ++c) {
    HEADRACE_ASSIGN(layout.fields[c], bit_field(masks[c]));
    if (layout.fields[c].shift + layout.fields[c].bits > layout.bits)
      return corrupt("damaged BMP: a channel beyond the " + std::to_string(layout.bits) + " bits of a pixel");
  }
  return {};
}

void read_palette(Bytes table, size_t entry, uint32_t colors, Layout& layout) {
  const size_t count = std::min<size_t>({colors, table.size() / entry, 256});
  layout.is_gray = count == std::min<size_t>(colors, 256);
  for (size_t i = 0; i < count; ++i)
    for (size_t c = 0; c < 3; ++c) {  // blue comes first
      const auto value = std::to_integer<uint8_t>(table[i * entry + 2 - c]);
      layout.palette[3 * i + c] = value;
      layout.is_gray = layout.is_gray && value == (colors == 2 ? i * 255 : i);
    }
  for (size_t i = 3 * count; i < layout.palette.size(); ++i)
    layout.palette[i] = static_cast<uint8_t>(layout.is_gray ? i / 3 : 0);
}

// A file must have room for the pixels it claims before memory is allocated for them.
Status check_size(Bytes bytes, const Layout& layout) {
  const uint64_t left = layout.pixels < bytes.size() ? bytes.size() - layout.pixels : 0;
  const auto height = static_cast<uint64_t>(layout.height), width = static_cast<uint64_t>(layout.width);
  if (layout.height < 1 || layout.width < 1) return {};  // reported by the caller
  // Two bytes encode up to 255 pixels, four a jump over up to 255 rows.
  const uint64_t needed =
      layout.is_run_length_coded() ? height / 255 + width / 255 / 255 : layout.row_bytes() * height;
  if (needed <= left) return {};
  // The last row need not be padded to a multiple of four bytes.
  const uint64_t used = (width * static_cast<uint64_t>(layout.bits) + 7) / 8;
  if (!layout.is_run_length_coded() && needed - layout.row_bytes() + used <= left) return {};
  return corrupt("truncated BMP: " + std::to_string(bytes.size()) + " bytes cannot hold " +
                 std::to_string(height) + " x " + std::to_string(width) + " pixels");
}

Status read_packing(Bytes info, Layout& layout) {
  const uint32_t packing = little_endian_at(info, 16, 4);
  const bool fits = packing == 0 || (packing == 1 && layout.bits == 8) ||
                    (packing == 2 && layout.bits == 4) || (packing == 3 && !layout.has_palette());
  if (!fits)
    return {Code::unavailable, Mismatch{.expected = "a BMP of plain, run-length coded or masked pixels",
                                        .got = "compression " + std::to_string(packing) + " of " +
                                               std::to_string(layout.bits) + " bits"}};
  layout.packing = static_cast<Packing>(packing);
  return {};
}

}  // namespace

Result<Layout> read_layout(Bytes bytes) {
  const Bytes info = bytes.subspan(std::min(bytes.size(), kFileHeader));
  const uint32_t size = little_endian_at(info, 0, 4);
  if (info.size() < 4 || info.size() < size) return corrupt("truncated BMP: ends before its pixels");
  constexpr uint32_t known[] = {kCoreHeader, kInfoHeader, 52, kMasksWithAlpha, 64, 108, 124};
  if (std::find(std::begin(known), std::end(known), size) == std::end(known))
    return Status(Code::unavailable, "unsupported size of a BMP header: " + std::to_string(size));
  const bool core = size == kCoreHeader;
  Layout layout;
  const auto height = static_cast<int32_t>(little_endian_at(info, core ? 6 : 8, core ? 2 : 4));
  layout.top_down = height < 0;
  layout.height = height < 0 ? -static_cast<int64_t>(height) : height;
  layout.width = little_endian_at(info, 4, core ? 2 : 4);
  layout.bits = static_cast<int>(little_endian_at(info, core ? 10 : 14, 2));
  constexpr int depths[] = {1, 4, 8, 16, 24, 32};
  if (std::find(std::begin(depths), std::end(depths), layout.bits) == std::end(depths))
    return Status(Code::unavailable,
                  {.expected = "a BMP of 1, 4, 8, 16, 24 or 32 bits", .got = std::to_string(layout.bits)});
  if (!core) HEADRACE_TRY(read_packing(info, layout));
  if (!layout.has_palette()) HEADRACE_TRY(read_fields(info, layout));
  size_t end = kFileHeader + size;  // of what was read
  if (size == kInfoHeader && layout.packing == Packing::bit_fields) end += 12;
  layout.pixels = little_endian_at(bytes, 10, 4);
  if (layout.has_palette()) {
    uint32_t colors = core ? 0 : little_endian_at(info, 32, 4);
    if (colors == 0) colors = 1u << layout.bits;
    if (colors > 65536) return corrupt("damaged BMP: a palette of " + std::to_string(colors) + " colours");
    const size_t entry = core ? 3 : 4;
    read_palette(bytes.subspan(std::min(end, bytes.size())), entry, colors, layout);
    if (layout.pixels == kFileHeader + size || layout.pixels == 0) layout.pixels = end + entry * colors;
  }
  if (layout.pixels == 0) layout.pixels = end;
  HEADRACE_TRY(check_size(bytes, layout));
  return layout;
}

}  // namespace headrace::bmp
