// clang-format off: jpeglib.h needs FILE and does not include it
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include "headrace/codecs/encode.h"

#include <csetjmp>
#include <cstdlib>

namespace headrace {
namespace {

// libjpeg reports errors by a callback that must not return, so ours does a longjmp. Functions that such a
// jump can leave hold trivial values only.
struct Session {
  jpeg_compress_struct encoder;
  jpeg_error_mgr errors;
  jmp_buf landing;
  char text[JMSG_LENGTH_MAX];
  unsigned char* out;
  unsigned long size;
};

[[noreturn]] void stop(j_common_ptr encoder) {
  auto* session = static_cast<Session*>(encoder->client_data);
  encoder->err->format_message(encoder, session->text);
  longjmp(session->landing, 1);
}

void set_subsampling(jpeg_compress_struct& encoder, ChromaSubsampling subsampling) {
  if (encoder.num_components != 3) return;
  encoder.comp_info[0].h_samp_factor = subsampling == ChromaSubsampling::yuv444 ? 1 : 2;
  encoder.comp_info[0].v_samp_factor = subsampling == ChromaSubsampling::yuv420 ? 2 : 1;
}

bool encode(Session& session, const View& image, int channels, int quality, ChromaSubsampling subsampling) {
  jpeg_compress_struct& encoder = session.encoder;
  encoder.err = jpeg_std_error(&session.errors);
  encoder.client_data = &session;
  session.errors.error_exit = stop;
  if (setjmp(session.landing)) return false;
  jpeg_create_compress(&encoder);
  jpeg_mem_dest(&encoder, &session.out, &session.size);
  encoder.image_height = static_cast<JDIMENSION>(image.shape[0]);
  encoder.image_width = static_cast<JDIMENSION>(image.shape[1]);
  encoder.input_components = channels;
  encoder.in_color_space = channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, quality, TRUE);
  set_subsampling(encoder, subsampling);
  encoder.optimize_coding = TRUE;
  jpeg_start_compress(&encoder, TRUE);
  const size_t stride = static_cast<size_t>(image.shape[1]) * static_cast<size_t>(channels);
  while (encoder.next_scanline < encoder.image_height) {
    auto* row = const_cast<JSAMPLE*>(image.as<JSAMPLE>()) + encoder.next_scanline * stride;
    jpeg_write_scanlines(&encoder, &row, 1);
  }
  jpeg_finish_compress(&encoder);
  return true;
}

}  // namespace

Result<std::string> encode_jpeg(const View& image, int quality, ChromaSubsampling subsampling) {
  const int channels = image.shape.rank() == 3 ? static_cast<int>(image.shape[2]) : 1;
  Session session{};
  const bool is_done = encode(session, image, channels, quality, subsampling);
  Result<std::string> out = invalid("libjpeg-turbo: " + std::string(session.text));
  if (is_done) out = std::string(reinterpret_cast<const char*>(session.out), session.size);
  jpeg_destroy_compress(&session.encoder);
  std::free(session.out);
  return out;
}

}  // namespace headrace
