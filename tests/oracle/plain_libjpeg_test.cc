#include "tests/oracle/plain_libjpeg.h"

#include <gtest/gtest.h>
// clang-format off: jpeglib.h needs FILE and does not say so
#include <cstdio>
#include <jpeglib.h>
// clang-format on

#include <csetjmp>

#include "tests/oracle/small_images.h"

namespace headrace::testing {
namespace {

struct Session {
  jpeg_decompress_struct decoder;
  jpeg_error_mgr errors;
  jmp_buf landing;
};

void decode(Session& session, const std::string& file, PlainDecode& result) {
  jpeg_decompress_struct& decoder = session.decoder;
  jpeg_create_decompress(&decoder);
  jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&decoder, TRUE);
  decoder.do_block_smoothing = FALSE;
  jpeg_start_decompress(&decoder);
  result.progressive = decoder.progressive_mode;
  const size_t row =
      static_cast<size_t>(decoder.output_width) * static_cast<size_t>(decoder.output_components);
  result.pixels.resize(row * decoder.output_height);
  while (decoder.output_scanline < decoder.output_height) {
    JSAMPROW out = result.pixels.data() + decoder.output_scanline * row;
    jpeg_read_scanlines(&decoder, &out, 1);
  }
  result.rows_read = true;
  jpeg_finish_decompress(&decoder);
  result.finished = true;
}

}  // namespace

PlainDecode decode_with_plain_libjpeg(const std::string& file) {
  Session session{};
  PlainDecode result;
  session.decoder.err = jpeg_std_error(&session.errors);
  session.decoder.client_data = &session;
  session.errors.error_exit = [](j_common_ptr decoder) {
    longjmp(static_cast<Session*>(decoder->client_data)->landing, 1);
  };
  session.errors.output_message = [](j_common_ptr) {};
  if (!setjmp(session.landing)) decode(session, file, result);
  result.warnings = session.errors.num_warnings;
  jpeg_destroy_decompress(&session.decoder);
  return result;
}

TEST(PlainLibjpeg, DecodesASoundFileAndCountsTheWarningsOfACutOne) {
  const std::string file(kGrayJpeg);
  EXPECT_TRUE(decode_with_plain_libjpeg(file).finished);
  EXPECT_EQ(decode_with_plain_libjpeg(file).warnings, 0);
  EXPECT_GT(decode_with_plain_libjpeg(file.substr(0, file.size() - 20)).warnings, 0);
}

}  // namespace headrace::testing
