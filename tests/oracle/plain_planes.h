// Pictures resampled by plain arithmetic over libjpeg-turbo's own planes, for tests.
#pragma once
#include <cstdio>
// After cstdio.
#include <jpeglib.h>

#include <algorithm>
#include <string>
#include <vector>

#include "headrace/codecs/resampled.h"
#include "headrace/kernels/plane_taps.h"
#include "tests/oracle/encode_jpeg.h"

namespace headrace::testing {

struct Plane {
  int64_t width = 0, height = 0;  // of what belongs to the image
  int64_t stride = 0;
  std::vector<uint8_t> samples;
};

// The planes as libjpeg-turbo decodes them.
inline std::vector<Plane> raw_planes(const std::string& file) {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&info, TRUE);
  info.raw_data_out = TRUE;
  info.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&info);
  std::vector<Plane> planes(static_cast<size_t>(info.num_components));
  const int most = info.max_v_samp_factor;
  const int64_t mcus_down = (info.output_height + 8 * most - 1) / (8 * most);
  for (size_t c = 0; c < planes.size(); ++c) {
    const jpeg_component_info& of = info.comp_info[c];
    planes[c].width = of.downsampled_width, planes[c].height = of.downsampled_height;
    planes[c].stride = static_cast<int64_t>(of.width_in_blocks) * 8 + 64;
    planes[c].samples.resize(static_cast<size_t>(planes[c].stride * mcus_down * 8 * of.v_samp_factor));
  }
  for (int64_t mcu = 0; mcu < mcus_down; ++mcu) {
    std::vector<std::vector<JSAMPROW>> rows(planes.size());
    std::vector<JSAMPARRAY> arrays;
    for (size_t c = 0; c < planes.size(); ++c) {
      const int64_t count = 8 * info.comp_info[c].v_samp_factor;
      for (int64_t r = 0; r < count; ++r)
        rows[c].push_back(planes[c].samples.data() + (mcu * count + r) * planes[c].stride);
      arrays.push_back(rows[c].data());
    }
    jpeg_read_raw_data(&info, arrays.data(), static_cast<JDIMENSION>(8 * most));
  }
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return planes;
}

inline int product(int a, int w) { return (a * w + (1 << 14)) >> 15; }
inline int to_byte(int v, int bits) { return std::clamp((v + (1 << (bits - 1))) >> bits, 0, 255); }

inline kernels::PlaneTaps taps_of(int64_t begin, int64_t size, int factor, int64_t samples, int64_t grid,
                                  int64_t first, int64_t count, const Resampled& picture,
                                  std::vector<std::byte>& memory) {
  const kernels::PlaneAxis axis{static_cast<double>(begin) / factor,
                                static_cast<double>(size) / factor,
                                begin / factor,
                                std::min((begin + size + factor - 1) / factor, samples),
                                grid,
                                first,
                                count,
                                false,
                                picture.interpolation,
                                picture.antialias};
  memory.resize(kernels::plane_taps_bytes(axis));
  return kernels::plane_taps(axis, memory.data());
}

// 5 bits below the point.
inline std::vector<int> resampled(const Plane& plane, int h, int v, const Resampled& picture, bool rounded) {
  const Box &from = picture.from, &window = picture.window;
  std::vector<std::byte> memory[2];
  const auto across =
      taps_of(from.x, from.w, h, plane.width, picture.width, window.x, window.w, picture, memory[0]);
  const auto down =
      taps_of(from.y, from.h, v, plane.height, picture.height, window.y, window.h, picture, memory[1]);
  const auto sample = [&](int64_t y, int64_t x) {
    return plane.samples[static_cast<size_t>(y * plane.stride + x)];
  };
  const auto sum_of = [](const kernels::PlaneTaps& taps, int64_t i, auto&& at) {
    const bool is_long = taps.is_long;
    int sum = 0;
    for (int32_t k = 0; k < taps.window; ++k)
      if (const auto w = static_cast<int16_t>(taps.weights_of(i)[k]); w != 0)
        sum += is_long ? at(taps.first[i] + k) * w : product(at(taps.first[i] + k), w);
    return is_long ? (sum + (1 << 14)) >> 15 : sum;
  };
  std::vector<int> out;
  for (int64_t y = 0; y < window.h; ++y)
    for (int64_t at = 0; at < window.w; ++at) {
      const int64_t x = picture.mirrored ? window.w - 1 - at : at;
      out.push_back(sum_of(down, y, [&](int64_t row) {
        const int mixed = sum_of(across, x, [&](int64_t column) { return sample(row, column) << 7; });
        return rounded ? to_byte(mixed, 6) << 6 : mixed;
      }));
    }
  return out;
}

struct Rgb {
  int r, g, b;
};
// `y` has 5 bits below the point, the chroma around zero 6.
inline Rgb matrix(int y, int u, int v) {
  return {to_byte(y + product(v, 22970), 5), to_byte(y - product(u, 5638) - product(v, 11700), 5),
          to_byte(y + product(u, 29032), 5)};
}

// The means of squares of pixels: what a smaller transform of blocks comes to, but for rounding.
inline Plane reduced(const Plane& plane, int64_t by) {
  Plane out{(plane.width + by - 1) / by, (plane.height + by - 1) / by, (plane.width + by - 1) / by, {}};
  for (int64_t y = 0; y < out.height; ++y)
    for (int64_t x = 0; x < out.width; ++x) {
      int64_t sum = by * by / 2;
      for (int64_t i = 0; i < by * by; ++i)
        sum += plane.samples[static_cast<size_t>((y * by + i / by) * plane.stride + x * by + i % by)];
      out.samples.push_back(static_cast<uint8_t>(sum / (by * by)));
    }
  return out;
}

inline std::vector<uint8_t> expected_pixels(const std::string& file, const Resampled& picture, bool gray,
                                            const Encoding& e, int by = 1) {
  auto planes = raw_planes(file);
  const bool has_chroma = e.channels == 3;  // pixels that a sample of luma stands for, and one of chroma
  const int y_h = has_chroma ? std::max(e.h, e.cb.first) / e.h : 1;
  const int y_v = has_chroma ? std::max(e.v, e.cb.second) / e.v : 1;
  const int h = std::max(e.h, e.cb.first) / e.cb.first, v = std::max(e.v, e.cb.second) / e.cb.second;
  if (by > 1)
    for (Plane& plane : planes) plane = reduced(plane, by);
  std::vector<uint8_t> out;
  if (planes.size() == 1 || gray) {
    for (const int luma : resampled(planes[0], y_h * by, y_v * by, picture, true))
      out.insert(out.end(), gray ? 1 : 3, static_cast<uint8_t>(to_byte(luma, 5)));
    return out;
  }
  const bool is_fine = h == 1 && v == 1 && y_h == 1 && y_v == 1;
  for (size_t i = 0; is_fine && i < planes[0].samples.size(); ++i) {
    uint8_t &y = planes[0].samples[i], &cb = planes[1].samples[i], &cr = planes[2].samples[i];
    const Rgb rgb = matrix(y << 5, (cb - 128) << 6, (cr - 128) << 6);
    y = static_cast<uint8_t>(rgb.r), cb = static_cast<uint8_t>(rgb.g), cr = static_cast<uint8_t>(rgb.b);
  }
  const auto first = resampled(planes[0], y_h * by, y_v * by, picture, is_fine),
             second = resampled(planes[1], h * by, v * by, picture, is_fine),
             third = resampled(planes[2], h * by, v * by, picture, is_fine);
  for (size_t i = 0; i < first.size(); ++i) {
    const Rgb rgb = is_fine ? Rgb{to_byte(first[i], 5), to_byte(second[i], 5), to_byte(third[i], 5)}
                            : matrix(first[i], 2 * (second[i] - 4096), 2 * (third[i] - 4096));
    for (const int value : {rgb.r, rgb.g, rgb.b}) out.push_back(static_cast<uint8_t>(value));
  }
  return out;
}

}  // namespace headrace::testing
