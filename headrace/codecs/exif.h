// EXIF orientation: how a camera was held. Reads the tag from a TIFF block, and rotates pixels by it. Free
// functions without state, for codecs (reading) and operators (rotating).
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace {

// Tag 0x0112 of the first directory of a TIFF block ("II*\0…" or "MM\0*…"), as it follows "Exif\0\0" in a
// JPEG and is alone in a PNG's eXIf. 1 when the block is damaged, has no such tag, or the tag is not 1..8.
int exif_orientation(std::span<const std::byte> tiff);

// Whether applying `orientation` exchanges height and width.
constexpr bool orientation_transposes(int orientation) { return orientation >= 5; }

// Turns dense (height, width) pixels of `pixel_bytes` upright. `out` is dense as well and does not overlap
// `in`; it is (width, height) when the orientation transposes. REQUIRES: 1 <= orientation <= 8; pixels of 1
// to 4 samples of 1, 2 or 4 bytes.
void apply_orientation(const uint8_t* in, int64_t height, int64_t width, int pixel_bytes, int orientation,
                       uint8_t* out);

}  // namespace headrace
