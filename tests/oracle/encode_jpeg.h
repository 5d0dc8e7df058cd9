// JPEG files of any size and sampling, written by libjpeg-turbo, for tests.
#pragma once
// clang-format off: jpeglib.h needs FILE and does not say so
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace headrace::testing {

struct Encoding {
  int height, width, channels;
  int h, v;  // sampling factors of the luma plane
  bool progressive;
  unsigned restart;
  bool is_flat = false;                          // one colour
  std::pair<int, int> cb = {1, 1}, cr = {1, 1};  // sampling factors of the planes of chroma
};

// All that libjpeg-turbo decodes: at most ten blocks in an MCU, and samples that stand for whole pixels.
inline std::vector<std::array<std::pair<int, int>, 3>> all_samplings() {
  std::vector<std::pair<int, int>> factors;
  for (int h = 1; h <= 4; ++h)
    for (int v = 1; v <= 4; ++v) factors.emplace_back(h, v);
  std::vector<std::array<std::pair<int, int>, 3>> out;
  for (const auto& y : factors)
    for (const auto& cb : factors)
      for (const auto& cr : factors) {
        const int h = std::max({y.first, cb.first, cr.first}), v = std::max({y.second, cb.second, cr.second});
        int blocks = 0;
        bool is_whole = true;
        for (const auto& [h_of, v_of] : {y, cb, cr}) {
          blocks += h_of * v_of;
          is_whole = is_whole && h % h_of == 0 && v % v_of == 0;
        }
        if (blocks <= 10 && is_whole) out.push_back({y, cb, cr});
      }
  return out;
}

inline std::string encode_jpeg(const Encoding& e) {
  jpeg_compress_struct encoder;
  jpeg_error_mgr errors;
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &data, &size);
  encoder.image_width = static_cast<JDIMENSION>(e.width);
  encoder.image_height = static_cast<JDIMENSION>(e.height);
  encoder.input_components = e.channels;
  encoder.in_color_space = e.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, 90, TRUE);
  encoder.comp_info[0].h_samp_factor = e.h, encoder.comp_info[0].v_samp_factor = e.v;
  if (e.channels == 3) {
    encoder.comp_info[1].h_samp_factor = e.cb.first, encoder.comp_info[1].v_samp_factor = e.cb.second;
    encoder.comp_info[2].h_samp_factor = e.cr.first, encoder.comp_info[2].v_samp_factor = e.cr.second;
  }
  encoder.restart_interval = e.restart;
  if (e.progressive) jpeg_simple_progression(&encoder);
  jpeg_start_compress(&encoder, TRUE);
  std::vector<JSAMPLE> row(static_cast<size_t>(e.width * e.channels));
  for (int y = 0; y < e.height; ++y) {
    for (int i = 0; i < e.width * e.channels; ++i)
      row[static_cast<size_t>(i)] = static_cast<JSAMPLE>(
          e.is_flat ? 50 + 80 * (i % e.channels) : (i * 7 + y * (i % 3 + 3) + (i * y) / 11) % 256);
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&encoder, rows, 1);
  }
  jpeg_finish_compress(&encoder);
  jpeg_destroy_compress(&encoder);
  std::string out(reinterpret_cast<const char*>(data), size);
  std::free(data);
  return out;
}

}  // namespace headrace::testing
