#include "headrace/codecs/color.h"

#include <cstring>

namespace headrace {

void rgb_to_gray(const uint8_t* in, size_t count, uint8_t* out) {
  for (size_t i = 0; i < count; ++i, in += 3)
    out[i] = static_cast<uint8_t>((in[0] * 19595u + in[1] * 38470u + in[2] * 7471u + 0x8000u) >> 16);
}

void cmyk_to_rgb(const uint8_t* in, size_t count, uint8_t* out) {
  for (size_t i = 0; i < count; ++i, in += 4, out += 3) {
    const uint32_t white = 255u - in[3];
    for (int c = 0; c < 3; ++c) {
      const uint32_t product = in[c] * white + 128;  // in * white / 255, rounded
      out[c] = static_cast<uint8_t>(white - (((product >> 8) + product) >> 8));
    }
  }
}

void first_of_three(const uint8_t* in, size_t count, uint8_t* out) {
  for (size_t i = 0; i < count; ++i) out[i] = in[3 * i];
}

void rgba_to_gray_alpha(const uint8_t* in, size_t count, uint8_t* out) {
  for (size_t i = 0; i < count; ++i) {
    out[2 * i] = in[4 * i];
    out[2 * i + 1] = in[4 * i + 3];
  }
}

void convert_channels(const uint8_t* in, int from, size_t count, uint8_t* out, int to) {
  if (from == to) {
    std::memcpy(out, in, count * static_cast<size_t>(from));
    return;
  }
  for (size_t i = 0; i < count; ++i, in += from, out += to) {
    uint8_t gray = in[0];
    if (from >= 3 && to <= 2) rgb_to_gray(in, 1, &gray);
    for (int c = 0; c < (to >= 3 ? 3 : 1); ++c) out[c] = from >= 3 && to >= 3 ? in[c] : gray;
    if (to % 2 == 0) out[to - 1] = from % 2 == 0 ? in[from - 1] : 255;
  }
}

}  // namespace headrace
