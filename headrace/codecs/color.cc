#include "headrace/codecs/color.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace headrace {
namespace {

uint16_t gray_of(const uint16_t* rgb) {
  return static_cast<uint16_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
}
float gray_of(const float* rgb) {
  return (rgb[0] * 19595.0f + rgb[1] * 38470.0f + rgb[2] * 7471.0f) / 65536.0f;
}

template <class T> void convert_wide(const T* in, int from, size_t count, T* out, int to) {
  if (from == to) {
    std::memcpy(out, in, count * static_cast<size_t>(from) * sizeof(T));
    return;
  }
  for (size_t i = 0; i < count; ++i, in += from, out += to) {
    const T gray = from >= 3 && to <= 2 ? gray_of(in) : in[0];
    for (int c = 0; c < (to >= 3 ? 3 : 1); ++c) out[c] = from >= 3 && to >= 3 ? in[c] : gray;
    if (to % 2 == 0) out[to - 1] = in[from - 1];
  }
}

}  // namespace

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

void convert_channels(const uint16_t* in, int from, size_t count, uint16_t* out, int to) {
  convert_wide(in, from, count, out, to);
}
void convert_channels(const float* in, int from, size_t count, float* out, int to) {
  convert_wide(in, from, count, out, to);
}

void cmyk_to_rgb(const uint16_t* in, size_t count, uint16_t* out, uint16_t most) {
  for (size_t i = 0; i < count; ++i, in += 4, out += 3) {
    const uint32_t white = uint32_t{most} - std::min(in[3], most);
    for (int c = 0; c < 3; ++c)
      out[c] = static_cast<uint16_t>(white - (std::min(in[c], most) * white + most / 2u) / most);
  }
}

void narrow_samples(const uint16_t* in, size_t count, uint16_t most, uint8_t* out) {
  const uint32_t whole = uint32_t{most} + 1;
  for (size_t i = 0; i < count; ++i)
    out[i] = static_cast<uint8_t>(std::min(uint32_t{in[i]} * 256 / whole, uint32_t{255}));
}

void narrow_samples(const float* in, size_t count, uint8_t* out) {
  for (size_t i = 0; i < count; ++i)
    out[i] =
        std::isnan(in[i]) ? uint8_t{0} : static_cast<uint8_t>(std::clamp(in[i], 0.0f, 1.0f) * 255.0f + 0.5f);
}

}  // namespace headrace
