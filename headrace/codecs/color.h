// Rows of pixels from one colour model to another, for codecs whose library does not do it. The arithmetic of
// uint8 is Pillow's Image.convert, byte for byte. `in` and `out` do not overlap; `count` is in pixels.
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

// The same of wider samples; `to` has alpha only where `from` has.
void convert_channels(const uint16_t* in, int from, size_t count, uint16_t* out, int to);
void convert_channels(const float* in, int from, size_t count, float* out, int to);
// `most` is as much ink as there can be.
void cmyk_to_rgb(const uint16_t* in, size_t count, uint16_t* out, uint16_t most);

// To 8 bits. The high ones of numbers up to `most`: in * 256 / (most + 1), rounded down. Floats from 0 to 1,
// rounded; others become the nearer of the two, NaN 0.
void narrow_samples(const uint16_t* in, size_t count, uint16_t most, uint8_t* out);
void narrow_samples(const float* in, size_t count, uint8_t* out);

}  // namespace headrace
