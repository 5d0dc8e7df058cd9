#include "headrace/codecs/encode.h"

#include <spng.h>

#include <cstdlib>
#include <memory>

namespace headrace {
namespace {

struct FreeEncoder {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};

uint8_t color_type(int channels) {
  return channels == 1   ? SPNG_COLOR_TYPE_GRAYSCALE
         : channels == 2 ? SPNG_COLOR_TYPE_GRAYSCALE_ALPHA
         : channels == 3 ? SPNG_COLOR_TYPE_TRUECOLOR
                         : SPNG_COLOR_TYPE_TRUECOLOR_ALPHA;
}

}  // namespace

Result<std::string> encode_png(const View& image) {
  const int channels = image.shape.rank() == 3 ? static_cast<int>(image.shape[2]) : 1;
  const std::unique_ptr<spng_ctx, FreeEncoder> context(spng_ctx_new(SPNG_CTX_ENCODER));
  if (!context) return Status(Code::exhausted, "out of memory for a PNG encoder");
  spng_ihdr header{};
  header.height = static_cast<uint32_t>(image.shape[0]), header.width = static_cast<uint32_t>(image.shape[1]);
  header.bit_depth = image.dtype == DType::u16 ? 16 : 8, header.color_type = color_type(channels);
  int failed = spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1);
  if (failed == 0) failed = spng_set_ihdr(context.get(), &header);
  if (failed == 0)
    failed =
        spng_encode_image(context.get(), image.data, image.size_bytes(), SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
  size_t size = 0;
  void* bytes = failed == 0 ? spng_get_png_buffer(context.get(), &size, &failed) : nullptr;
  if (!bytes) return invalid(std::string("libspng: ") + spng_strerror(failed));
  std::string out(static_cast<const char*>(bytes), size);
  std::free(bytes);
  return out;
}

}  // namespace headrace
