// JPEG files of any size and sampling, written by libjpeg-turbo, for tests.
#pragma once
// clang-format off: jpeglib.h needs FILE and does not say so
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <cstdlib>
#include <string>
#include <vector>

namespace headrace::testing {

struct Encoding {
  int height, width, channels;
  int h, v;  // sampling factors of the luma plane
  bool progressive;
  unsigned restart;
  bool is_flat = false;  // one colour
};

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
