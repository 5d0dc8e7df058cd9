// Any bytes as one of VOC's lists of images: names of which each is found again, or an error.
#include <cstdlib>

#include "headrace/formats/images/voc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto names = headrace::ImageSet::parse(text);
  if (!names.ok()) return names.status().text().empty() ? std::abort(), 0 : 0;
  if (names->size() > size) std::abort();
  (void)names->has(text);
  return 0;
}
