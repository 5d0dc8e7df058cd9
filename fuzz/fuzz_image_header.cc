// Any bytes as an image header and as an EXIF block: a result within the limits, or an error.
#include <cstdlib>

#include "headrace/codecs/exif.h"
#include "headrace/codecs/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const int orientation = headrace::exif_orientation(bytes);
  if (orientation < 1 || orientation > 8) std::abort();
  const auto header = headrace::read_image_header(bytes);
  if (!header.ok()) {
    if (header.status().text().empty()) std::abort();
    return 0;
  }
  const bool sane = header->height >= 1 && header->width >= 1 && header->channels >= 1 &&
                    header->channels <= 4 && header->height * header->width <= headrace::kMaxImagePixels &&
                    header->orientation >= 1 && header->orientation <= 8;
  if (!sane) std::abort();
  return 0;
}
