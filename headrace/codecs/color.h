// Rows of uint8 pixels from one colour model to another, for codecs whose library does not do it. The
// arithmetic is Pillow's Image.convert, byte for byte. `in` and `out` do not overlap; `count` is in pixels.
#pragma once
#include <cstddef>
#include <cstdint>

namespace headrace {

void rgb_to_gray(const uint8_t* in, size_t count,
                 uint8_t* out);  // (19595 R + 38470 G + 7471 B + 2^15) / 2^16
void cmyk_to_rgb(const uint8_t* in, size_t count, uint8_t* out);         // 0 = no ink; no colour profile
void first_of_three(const uint8_t* in, size_t count, uint8_t* out);      // grey RGB -> grey
void rgba_to_gray_alpha(const uint8_t* in, size_t count, uint8_t* out);  // grey RGBA -> (grey, alpha)

// From pixels of `from` channels to pixels of `to`: 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA. Grey is
// replicated, alpha is dropped or made opaque. The same number of channels: a copy.
void convert_channels(const uint8_t* in, int from, size_t count, uint8_t* out, int to);

}  // namespace headrace
